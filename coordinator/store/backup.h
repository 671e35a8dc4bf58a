// A consistent copy of inlier.db, also while the coordinator runs.
//
// The copy is the snapshot of one read transaction: readers never block the writer, and its connection
// neither writes nor checkpoints (SQLite 3.40's WAL forbids a second one that does). It is written next to
// its final name, checked (integrity_check), fsynced, and only then given that name, which must be free: a
// file that exists under it is a whole backup, and no backup is ever overwritten.
//
// Thread safety: free functions; any thread.
#ifndef INLIER_COORDINATOR_STORE_BACKUP_H_
#define INLIER_COORDINATOR_STORE_BACKUP_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/time.h"

struct sqlite3;

namespace inlier {

struct BackupOptions {
  // Called now and then with the pages copied so far and all there are. May be empty.
  std::function<void(std::uint64_t pages_done, std::uint64_t pages_total)> progress;
  // True: a copy of a damaged database is an error. False: it is kept, for a repair.
  bool check = true;
  // Above 0: the destination is a folder outside the state folder, and the oldest backups in it whose name
  // ends in ".scheduled" are removed once the new one is checked, until `keep` are left with it.
  std::size_t keep = 0;
};

struct BackupResult {
  std::filesystem::path file;
  std::uint64_t bytes = 0;
  int schema_version = 0;
  Duration duration{0};
  std::size_t removed = 0;  // Older backups, by `keep`.
};

// Copies the database of the state folder to `destination`, a file that does not exist, or a folder, in which
// it gets a name with version and time. AlreadyExists when there is a file; NotFound without a database;
// ResourceExhausted when it does not fit; DataLoss when the copy is damaged: it is removed. With `keep`,
// NotFound for a folder that does not exist: making it could fill the disk below a mount point. A failed
// backup removes no older one.
absl::StatusOr<BackupResult> BackupStateFolder(const std::filesystem::path& state_dir,
                                               const std::filesystem::path& destination,
                                               const BackupOptions& options = {});

// Copies the database of the connection `source`, without an open transaction, to a file next to `database`:
// "inlier.db.v3.20261122T021623.123Z.<reason>". For this folder.
absl::StatusOr<BackupResult> BackupBeside(sqlite3* source, const std::filesystem::path& database, int version,
                                          const std::string& reason, const BackupOptions& options = {});

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_BACKUP_H_
