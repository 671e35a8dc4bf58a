// A disk of a few MiB, which a test can fill.
#ifndef INLIER_TESTS_SUPPORT_SMALL_DISK_H_
#define INLIER_TESTS_SUPPORT_SMALL_DISK_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace inlier {

class SmallDisk {
 public:
  SmallDisk() : mounted_(Run("mount -t tmpfs -o size=4m tmpfs")) {}
  ~SmallDisk() {
    if (mounted_) Run("umount -l");
  }

  // False: mounting one needs root.
  bool mounted() const { return mounted_; }
  const std::filesystem::path& path() const { return folder_.path(); }

  void Fill() const {
    std::ofstream filler(Filler(), std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void Free() const { std::filesystem::remove(Filler()); }

 private:
  std::filesystem::path Filler() const { return path() / "filler"; }
  bool Run(const std::string& command) const {
    return std::system((command + " '" + path().string() + "' 2>/dev/null").c_str()) == 0;
  }

  TemporaryFolder folder_;
  const bool mounted_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SUPPORT_SMALL_DISK_H_
