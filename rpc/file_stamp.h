// The state of files, to notice a change without reading them.
#ifndef INLIER_RPC_FILE_STAMP_H_
#define INLIER_RPC_FILE_STAMP_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace inlier {

// Two stamps of the same files, perhaps absent, differ where one was replaced, written, or changed its permissions.
class FileStamp {
 public:
  FileStamp() = default;
  explicit FileStamp(const std::vector<std::string>& files) {
    for (const std::string& file : files) {
      struct stat info {};
      if (!file.empty() && ::stat(file.c_str(), &info) == 0) {
        seen_.emplace_back(info.st_ino, info.st_size, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
      } else {
        seen_.emplace_back(0, -1, 0, 0);
      }
    }
  }
  friend bool operator==(const FileStamp&, const FileStamp&) = default;

 private:
  std::vector<std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>> seen_;
};

}  // namespace inlier

#endif  // INLIER_RPC_FILE_STAMP_H_
