// A disk that remembers its writes, and its possible states after a power cut.
//
// RecordingVfs is SQLite's default VFS that also keeps, in their order, every write, truncation, sync,
// creation and deletion of every named file. PowerCut replays them up to any point and makes the folder as it
// could be then: synced data is there; any part of the writes to a file since its last sync may be missing,
// torn at the borders of sectors; a file whose folder was not synced since it was made or deleted
// may be missing or back. The -shm file is shared memory and does not survive.
//
// Thread safety: none; one connection at a time.
#ifndef INLIER_TESTS_COORDINATOR_STORE_RECORDING_VFS_H_
#define INLIER_TESTS_COORDINATOR_STORE_RECORDING_VFS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace inlier {

struct DiskStep {
  enum class Kind { kCreate, kWrite, kTruncate, kSync, kSyncFolder, kDelete };
  Kind kind = Kind::kWrite;
  std::string file;     // Name in the folder; empty with kSyncFolder.
  std::int64_t at = 0;  // Offset, or the size after kTruncate.
  std::string bytes;
};

// While an object lives, databases opened in this process use it, and nothing really waits for the disk. They
// must be closed before it is destroyed.
class RecordingVfs {
 public:
  RecordingVfs();
  ~RecordingVfs();
  RecordingVfs(const RecordingVfs&) = delete;
  RecordingVfs& operator=(const RecordingVfs&) = delete;

  const std::vector<DiskStep>& steps() const;
  // From now on the disk lies: syncs of files whose names end so do nothing.
  void IgnoreSyncsOf(const std::string& ending) const;
};

class PowerCut {
 public:
  enum class Loss { kNone, kAll, kTail, kWrites, kSectors };
  static constexpr std::int64_t kSectorBytes = 512;

  explicit PowerCut(const std::vector<DiskStep>& steps) : steps_(steps) {}

  // Moves on to before step `position`. REQUIRES: not before the last one.
  void MoveTo(std::size_t position);
  // Writes the folder's files as they could be now into `folder`. kNone: nothing is lost (a kill -9). Of data
  // that was not synced: kAll loses all of it, kTail all from a random sector on, kWrites a random choice of
  // writes, kSectors a random choice of sectors.
  void Materialise(Loss loss, std::mt19937_64& random, const std::filesystem::path& folder) const;

 private:
  struct File {
    std::string durable;
    std::vector<DiskStep> pending;  // kWrite and kTruncate since the last sync.
    bool exists = false;            // To the running system.
    bool entry_durable = false;     // The folder was synced with it.
  };
  std::string Contents(const File& file, Loss loss, std::mt19937_64& random) const;

  const std::vector<DiskStep>& steps_;
  std::size_t position_ = 0;
  std::map<std::string, File> files_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_STORE_RECORDING_VFS_H_
