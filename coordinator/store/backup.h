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

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "inlier/v1/config.pb.h"

struct sqlite3;

namespace inlier {

struct BackupOptions {
  // Called now and then with the pages copied so far and all there are. May be empty.
  std::function<void(std::uint64_t pages_done, std::uint64_t pages_total)> progress;
  // True: a copy of a damaged database is an error. False: it is kept as it is, for a repair.
  bool check = true;
  // Asked now and then while it copies and checks; true: it ends with Cancelled. May be empty.
  std::function<bool()> must_stop;
  // The end of the name that it gets in a folder.
  std::string reason = "backup";
};

struct BackupResult {
  std::filesystem::path file;
  std::uint64_t bytes = 0;
  int schema_version = 0;
  Duration duration{0};
};

// Copies the database of the state folder to `destination`, a file that does not exist, or a folder, in which
// it gets a name with version and time. AlreadyExists when there is a file; NotFound without a database;
// ResourceExhausted when it does not fit; DataLoss when the copy is damaged: it is removed; Cancelled as of
// must_stop.
absl::StatusOr<BackupResult> BackupStateFolder(const std::filesystem::path& state_dir,
                                               const std::filesystem::path& destination,
                                               const BackupOptions& options = {});

// The same from the connection `source`, to the file `destination`. For this folder; `source` has no open
// transaction.
absl::StatusOr<BackupResult> BackupConnection(sqlite3* source, const std::filesystem::path& destination,
                                              const BackupOptions& options = {});

// "inlier.db.v3.20261122T021623.123Z.<reason>": the name of a backup that the program makes by itself, next
// to the database.
std::filesystem::path AutomaticBackupPath(const std::filesystem::path& database, int version, WallTime now,
                                          const std::string& reason);

// <state_dir>/backups.json: how the latest backup of the coordinator's schedule ended. NotFound without one, as where
// there is no schedule; DataLoss when it cannot be read.
absl::StatusOr<v1::BackupNote> ReadBackupNote(const std::filesystem::path& state_dir);
// Replaces it; nullptr: removes it.
absl::Status WriteBackupNote(const std::filesystem::path& state_dir, const v1::BackupNote* note);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_BACKUP_H_
