// Which database a state folder belongs to. Ids of stages and tokens count from 1 in every database, so one
// database must never find the checkpoints of another; and SQLite applies a log to any database that lies
// next to it.
//
// The folder's note (base/files/file_lock.h) has the database's id and the start of the coordinator that
// wrote its log last.
#ifndef INLIER_COORDINATOR_STORE_FOLDER_BINDING_H_
#define INLIER_COORDINATOR_STORE_FOLDER_BINDING_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "base/files/file_lock.h"

namespace inlier {

// OK where the folder has a database, or never had one. FailedPrecondition, with the remedies, where its file
// is missing or empty while other files of it are there. With `make_new`, FailedPrecondition where the folder
// has a database.
absl::Status CheckHasDatabase(const std::filesystem::path& state_dir, bool make_new);

// FailedPrecondition where inlier.db-wal belongs to another file than inlier.db, such as one that a backup
// replaced.
absl::Status CheckLogBelongs(const std::filesystem::path& state_dir);

// Notes, before a new database is made, that the folder has none: after a kill it is not missed. `lock`, here
// and below, is that of the folder.
absl::Status NoteNewDatabase(const std::filesystem::path& state_dir, const FileLock& lock);

// Moves files of attempts of another database to set-aside/<its id>/, and those of the database `id` back
// from there.
absl::Status BindFolder(const std::filesystem::path& state_dir, const FileLock& lock, const std::string& id);

// Notes that every log from now on belongs to the `start` that is in inlier.db.
absl::Status NoteStart(const FileLock& lock, const std::string& id, const std::string& start);

// True if `home`, a folder other than `state_dir`, has the database `id`, too: one of the two is a copy.
bool AlsoHas(const std::filesystem::path& home, const std::filesystem::path& state_dir,
             const std::string& id);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_FOLDER_BINDING_H_
