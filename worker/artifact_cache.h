// The bound on what a worker without a shared folder keeps: models in artifacts/, checkpoints of attempts
// that have ended in attempts/. All of it can be fetched or made again.
//
// Thread safety: pure functions over the file system; they wait for the disk.
#ifndef INLIER_WORKER_ARTIFACT_CACHE_H_
#define INLIER_WORKER_ARTIFACT_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <functional>

namespace inlier {

// Notes that `path` was used now.
void MarkUsed(const std::filesystem::path& path);

// Removes the least recently used files until at most `bytes_max` are left, but none that `in_use` tells of,
// which count all the same. The number of bytes removed.
std::uint64_t TrimArtifactCache(const std::filesystem::path& state_dir, std::uint64_t bytes_max,
                                const std::function<bool(const std::filesystem::path&)>& in_use);

}  // namespace inlier

#endif  // INLIER_WORKER_ARTIFACT_CACHE_H_
