// A file for another program to read, removed on destruction.
#ifndef INLIER_CLI_TEMPORARY_FILE_H_
#define INLIER_CLI_TEMPORARY_FILE_H_

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace inlier {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    std::string name = (std::filesystem::temp_directory_path() / "inlier-request-XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    if (descriptor >= 0) ::close(descriptor);
    path_ = name;
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace inlier

#endif  // INLIER_CLI_TEMPORARY_FILE_H_
