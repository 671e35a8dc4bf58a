// The size limit of the cache of a worker without a shared folder: models in artifacts/, checkpoints of ended
// attempts in attempts/. All of it can be fetched or made again.
//
// Thread safety: none of CacheRoom; the rest are pure functions over the file system, which wait for the disk.
#ifndef INLIER_WORKER_ARTIFACT_CACHE_H_
#define INLIER_WORKER_ARTIFACT_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <functional>

namespace inlier {

struct TrimmedCache {
  std::uint64_t removed = 0;  // Bytes.
  std::uint64_t left = 0;
};

// Removes the least recently used files until at most `bytes_max` are left. Files in use are kept, and count.
// Reads the status of every file.
TrimmedCache TrimArtifactCache(const std::filesystem::path& state_dir, std::uint64_t bytes_max,
                               const std::function<bool(const std::filesystem::path&)>& in_use);

// Decides when to trim: a cache of many files is read once for many new files, not for each.
class CacheRoom {
 public:
  explicit CacheRoom(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // A file of `bytes` was added. True: half of the free room may be taken, so the cache must be trimmed. The other half
  // is for checkpoints of attempts, which are written without a call of this.
  bool Take(std::uint64_t bytes) {
    taken_ += bytes;
    return taken_ >= room_ / 2;
  }
  // The cache was trimmed to `left` bytes.
  void Trimmed(std::uint64_t left) {
    room_ = bytes_max_ > left ? bytes_max_ - left : 0;
    taken_ = 0;
  }

 private:
  const std::uint64_t bytes_max_;
  std::uint64_t room_ = 0;  // Not known before the first trim.
  std::uint64_t taken_ = 0;
};

}  // namespace inlier

#endif  // INLIER_WORKER_ARTIFACT_CACHE_H_
