// The one SQLite file, inlier.db, and the only connection that writes or checkpoints it.
//
// Open() takes the state folder for this process alone (a lock file), refuses files that are not ours or are
// newer than this program, brings older ones forward with a backup before each migration, and brings the
// views up to date. WAL, synchronous=FULL, foreign keys on, no automatic checkpoints: the writer checkpoints
// by itself (CheckpointWal), since SQLite 3.40's WAL may lose data when two connections write and checkpoint.
//
// SQLite's exceptions and codes stop in this folder: FULL is ResourceExhausted (space may come back; try
// again), an I/O error is DataLoss (the process must end; never retry an fsync), a broken constraint is
// Internal.
//
// Thread safety: none; one thread at a time.
#ifndef INLIER_COORDINATOR_STORE_DATABASE_H_
#define INLIER_COORDINATOR_STORE_DATABASE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/file_lock.h"

namespace SQLite {
class Database;
class Exception;
}  // namespace SQLite

namespace inlier {

// Marks an SQLite file as ours: "inlr".
inline constexpr std::int64_t kApplicationId = 0x696e6c72;

// One step of the schema: SQL that brings version `to_version - 1` to `to_version`. Run in one transaction.
struct Migration {
  int to_version = 0;
  std::string name;
  std::string sql;
};

// The files of coordinator/store/migrations, in order, embedded at build.
const std::vector<Migration>& BuiltinMigrations();

class Database {
 public:
  // Makes the folder and the file when they are missing. `lock`: of the folder, where the caller has it.
  // `make_new`: makes an empty database, also where the folder had another one (folder/binding.h).
  static absl::StatusOr<std::unique_ptr<Database>> Open(
      const std::filesystem::path& state_dir, const std::vector<Migration>& migrations = BuiltinMigrations(),
      std::optional<FileLock> lock = std::nullopt, bool make_new = false);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // <state_dir>/inlier.db
  const std::filesystem::path& path() const { return path_; }
  // Backups of a database have its id; any other database has another one.
  const std::string& id() const { return id_; }
  // Version of the schema, after migration.
  int version() const { return version_; }

  // Makes the views of the database's programs where they differ from its own, in the transaction that runs or in one of
  // its own. Readers see them with the next statement (query_guard.h).
  absl::Status RefreshViews();

  // Copies the WAL into the file, without waiting for readers: what they hold stays for the next time. The
  // next commits reuse its space, and shorten a log file above kLogFileBytesMax; `truncate` frees it at once.
  absl::Status CheckpointWal(bool truncate);
  // Bytes of the WAL that are not in the file yet.
  std::uint64_t WalBytes() const;

  // A file of the folder that was moved, removed or replaced while this process has it open; empty: none.
  // Costs two or three calls of stat.
  std::string DisplacedFile();
  // Copies all that was committed into a new file of the folder, when a file of the database was displaced.
  absl::StatusOr<std::filesystem::path> Rescue();

  // The status of a failed write. A quota, which SQLite calls an I/O error, is ResourceExhausted like a full
  // disk.
  absl::Status WriteStatus(const SQLite::Exception& exception) const;

  SQLite::Database& connection() { return *connection_; }

 private:
  Database(std::filesystem::path path, FileLock lock, std::unique_ptr<SQLite::Database> connection);

  // Finds which database it is, makes the folder its own, and empties the log.
  absl::Status Bind();

  std::filesystem::path path_;
  FileLock lock_;
  std::unique_ptr<SQLite::Database> connection_;
  std::string id_;
  std::uint64_t wal_inode_ = 0;
  int version_ = 0;
  std::uint32_t page_bytes_ = 4096;
  std::uint32_t wal_frames_ = 0;
};

// The status of an exception or a result code of SQLite, with what was being done.
absl::Status SqliteStatus(const SQLite::Exception& exception, const std::string& what);
absl::Status SqliteStatus(int extended_code, const std::string& message, const std::string& what);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_DATABASE_H_
