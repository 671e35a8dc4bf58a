#include "worker/artifact_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/data/checked_files.h"
#include "base/files/file.h"
#include "base/log.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

struct CachedFile {
  fs::path path;
  std::uint64_t bytes = 0;
  timespec used{};
};

// True for a checkpoint, complete, partly received or damaged.
bool IsCheckpoint(const fs::path& path) {
  return path.extension() == ".safetensors" || path.extension() == ".part" ||
         path.extension() == kDamagedSuffix;
}

void List(const fs::path& folder, std::vector<CachedFile>& files) {
  for (const fs::path& path : EntriesOf(folder)) {
    struct stat found {};
    if (!IsCheckpoint(path) || ::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    files.push_back({path, static_cast<std::uint64_t>(found.st_size), found.st_mtim});
  }
}

}  // namespace

TrimmedCache TrimArtifactCache(const fs::path& state_dir, std::uint64_t bytes_max,
                               const std::function<bool(const fs::path&)>& in_use) {
  std::vector<CachedFile> files;
  List(state_dir / "artifacts", files);
  std::error_code error;
  for (const fs::path& stage : EntriesOf(state_dir / "attempts")) {
    for (const fs::path& attempt : EntriesOf(stage)) List(attempt, files);
  }
  std::uint64_t total = 0, removed = 0;
  for (const CachedFile& file : files) total += file.bytes;
  std::ranges::sort(files, [](const CachedFile& a, const CachedFile& b) {
    if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec < b.used.tv_sec;
    return a.used.tv_nsec < b.used.tv_nsec;
  });
  for (const CachedFile& file : files) {
    if (total <= bytes_max) break;
    if (in_use(file.path)) continue;
    if (!fs::remove(file.path, error)) continue;
    spdlog::info("artifact_forgotten path={} bytes={}", file.path.string(), file.bytes);
    total -= file.bytes;
    removed += file.bytes;
  }
  return {.removed = removed, .left = total};
}

}  // namespace inlier
