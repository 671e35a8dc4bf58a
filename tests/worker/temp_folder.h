// A folder of a test's own, removed with everything in it.
#ifndef INLIER_TESTS_WORKER_TEMP_FOLDER_H_
#define INLIER_TESTS_WORKER_TEMP_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace inlier {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "inlier-worker-test.XXXXXX").string();
    INLIER_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_TEMP_FOLDER_H_
