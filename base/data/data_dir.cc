#include "base/data/data_dir.h"

#include <system_error>

namespace inlier {

namespace fs = std::filesystem;

fs::path DefaultDataDir(const fs::path& program) {
  const fs::path installed = program.parent_path().parent_path() / "share/inlier/corpora";
  std::error_code error;
  return fs::exists(fs::symlink_status(installed, error)) ? installed : fs::path(INLIER_DEFAULT_DATA_DIR);
}

std::string DataDirOr(const std::string& named) {
  if (!named.empty()) return fs::absolute(named).string();
  std::error_code error;  // Without /proc the program is nowhere, and the folder is the build's.
  return DefaultDataDir(fs::read_symlink("/proc/self/exe", error)).string();
}

}  // namespace inlier
