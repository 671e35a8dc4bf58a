// A file for another program to read, removed on destruction.
#ifndef INLIER_CLI_TEMPORARY_FILE_H_
#define INLIER_CLI_TEMPORARY_FILE_H_

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"

namespace inlier {

class TemporaryFile {
 public:
  static absl::StatusOr<TemporaryFile> Make(const std::string& content) {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "inlier-request-XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    const absl::Status made = descriptor < 0 ? ErrnoStatus("cannot make " + name) : absl::OkStatus();
    if (descriptor >= 0) ::close(descriptor);
    TemporaryFile file(made.ok() ? name : "");
    const absl::Status written = made.ok() ? WriteFile(name, content) : made;
    if (written.ok()) return file;
    return absl::Status(written.code(),
                        absl::StrCat(written.message(), "; name another place for it with TMPDIR"));
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace inlier

#endif  // INLIER_CLI_TEMPORARY_FILE_H_
