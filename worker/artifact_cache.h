// The bound on what a worker without a shared folder keeps: models in artifacts/, checkpoints of attempts
// that have ended in attempts/. All of it can be fetched or made again.
//
// Thread safety: none of CacheRoom; the rest are pure functions over the file system, which wait for the
// disk.
#ifndef INLIER_WORKER_ARTIFACT_CACHE_H_
#define INLIER_WORKER_ARTIFACT_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <functional>

namespace inlier {

// Notes that `path` was used now.
void MarkUsed(const std::filesystem::path& path);

struct TrimmedCache {
  std::uint64_t removed = 0;  // Bytes.
  std::uint64_t left = 0;
};

// Removes the least recently used files until at most `bytes_max` are left, but none that `in_use` tells of,
// which count all the same. Looks at every file.
TrimmedCache TrimArtifactCache(const std::filesystem::path& state_dir, std::uint64_t bytes_max,
                               const std::function<bool(const std::filesystem::path&)>& in_use);

// When to trim again: a cache of many files is looked at once for many that come, not for each.
class CacheRoom {
 public:
  explicit CacheRoom(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // A file of so many bytes has come. True: half of the room that was left may be taken, look again. The rest
  // of it is for checkpoints of attempts, which come without being told.
  bool Take(std::uint64_t bytes) {
    taken_ += bytes;
    return taken_ >= room_ / 2;
  }
  // The cache was trimmed, and so much is left.
  void Trimmed(std::uint64_t left) {
    room_ = bytes_max_ > left ? bytes_max_ - left : 0;
    taken_ = 0;
  }

 private:
  const std::uint64_t bytes_max_;
  std::uint64_t room_ = 0;  // Not known before the first look.
  std::uint64_t taken_ = 0;
};

}  // namespace inlier

#endif  // INLIER_WORKER_ARTIFACT_CACHE_H_
