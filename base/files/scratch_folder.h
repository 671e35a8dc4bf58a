// A new folder of this user alone, removed with all that is in it.
#ifndef INLIER_BASE_FILES_SCRATCH_FOLDER_H_
#define INLIER_BASE_FILES_SCRATCH_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace inlier {

class ScratchFolder {
 public:
  // In TMPDIR or the usual place. `use`: a word of its name, for people who find it.
  explicit ScratchFolder(const std::string& use) {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / ("inlier-" + use + "-XXXXXX")).string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }  // Empty: it could not be made.

 private:
  std::filesystem::path path_;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_SCRATCH_FOLDER_H_
