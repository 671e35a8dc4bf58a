// Which database a state folder belongs to. Ids of stages and tokens count from 1 in every database, so the checkpoints of one
// must never lie where another one looks for its own; and SQLite applies a log to whatever database lies beside it.
//
// The folder's note (base/files/file_lock.h) has the database's id and the start of the coordinator that wrote its log last.
//
// Thread safety: free functions.
#ifndef INLIER_COORDINATOR_STORE_FOLDER_BINDING_H_
#define INLIER_COORDINATOR_STORE_FOLDER_BINDING_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "base/files/file_lock.h"

namespace inlier {

// OK where the folder has a database, or never had one. FailedPrecondition, with the remedies, where it had one that is not
// there: its file is missing or empty, while something else in the folder is of it. `make_new`: a new one was asked for, which
// is FailedPrecondition where there is one.
absl::Status CheckHasDatabase(const std::filesystem::path& state_dir, bool make_new);

// FailedPrecondition where inlier.db-wal is of another file than inlier.db, such as a backup that was copied over it.
absl::Status CheckLogBelongs(const std::filesystem::path& state_dir);

// The three below: `lock` is that of the folder.

// Before a new database is made: one of a start that was killed meanwhile is not missed later.
absl::Status NoteNewDatabase(const std::filesystem::path& state_dir, const FileLock& lock);

// The folder's files of attempts are those of the database `id` when this returns: those of another one are moved to
// set-aside/<its id>/, and come back with it.
absl::Status BindFolder(const std::filesystem::path& state_dir, const FileLock& lock, const std::string& id);

// `start` is in inlier.db itself, and every log from here on belongs to it.
absl::Status NoteStart(const FileLock& lock, const std::string& id, const std::string& start);

// The folder `home` has the database `id`, and is another one than `state_dir`: one of the two is a copy.
bool AlsoHas(const std::filesystem::path& home, const std::filesystem::path& state_dir,
             const std::string& id);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_FOLDER_BINDING_H_
