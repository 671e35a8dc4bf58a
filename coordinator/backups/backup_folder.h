// The backups that a schedule keeps in a folder: files inlier.db.v<schema>.<time>.scheduled, and no others. What
// people put there by `inlier backup` has another ending and is neither counted nor removed.
//
// Thread safety: free functions; one caller a folder at a time.
#ifndef INLIER_COORDINATOR_BACKUPS_BACKUP_FOLDER_H_
#define INLIER_COORDINATOR_BACKUPS_BACKUP_FOLDER_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/store/backup.h"

namespace inlier {

struct ScheduledBackup {
  std::filesystem::path file;
  WallTime at;  // As its name has it.
};

// Nullopt for a file that no schedule made.
std::optional<ScheduledBackup> AsScheduledBackup(const std::filesystem::path& file);

// Oldest first; empty where the folder cannot be read.
std::vector<ScheduledBackup> ScheduledBackups(const std::filesystem::path& folder);

struct RotatedBackup {
  BackupResult made;
  std::size_t removed = 0;  // Older backups.
};

// Backs the database of `state_dir` up to `folder`, checks the copy, and only then removes the oldest until `keep` are
// left, at least 1; the new one always stays. Parts that a killed coordinator left are removed first. `must_stop`: as of
// BackupOptions. Errors are those of BackupStateFolder, and NotFound for a folder that is not there (it is not made: a
// disk that is not mounted must not become a folder of the one below); no backup is removed then.
absl::StatusOr<RotatedBackup> BackUpAndRotate(const std::filesystem::path& state_dir,
                                              const std::filesystem::path& folder, std::size_t keep,
                                              const std::function<bool()>& must_stop);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_BACKUPS_BACKUP_FOLDER_H_
