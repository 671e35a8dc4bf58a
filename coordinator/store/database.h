// The one SQLite file, inlier.db, and the only connection that writes or checkpoints it.
//
// Open() takes the state folder for this process alone (a lock file), refuses files that are not ours or are
// newer than this program, brings older ones forward with a backup before each migration, and brings the
// views up to date. WAL, synchronous=FULL, foreign keys on, no automatic checkpoints: the writer checkpoints
// by itself (Checkpoint), since SQLite 3.40's WAL may lose data when two connections write and checkpoint.
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
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace SQLite {
class Database;
class Exception;
}  // namespace SQLite

namespace inlier {

// What marks an SQLite file as ours: "inlr".
inline constexpr std::int64_t kApplicationId = 0x696e6c72;

// One step of the schema: SQL that brings version `to_version - 1` to `to_version`. Run in one transaction.
struct Migration {
  int to_version = 0;
  std::string name;
  std::string sql;
};

// Those of coordinator/store/migrations, in order, embedded at build.
const std::vector<Migration>& BuiltinMigrations();

// The exclusive right to a state folder: flock on inlier.lock, which holds our pid. Ends with the object or
// the process.
class StateLock {
 public:
  // FailedPrecondition, naming the pid, when another process holds it.
  static absl::StatusOr<std::unique_ptr<StateLock>> Take(const std::filesystem::path& state_dir);
  ~StateLock();
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  explicit StateLock(int fd) : fd_(fd) {}
  int fd_;
};

class Database {
 public:
  // Makes the folder and the file when they are not there.
  static absl::StatusOr<std::unique_ptr<Database>> Open(
      const std::filesystem::path& state_dir, const std::vector<Migration>& migrations = BuiltinMigrations());
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::filesystem::path& path() const { return path_; }  // <state_dir>/inlier.db
  // Version of the schema, after migration.
  int version() const { return version_; }

  // Moves the WAL into the file; `truncate` also gives its space back when no reader uses it. Busy readers
  // are not an error and are not waited for: what they hold stays for the next time.
  absl::Status Checkpoint(bool truncate);
  // What the WAL holds that has not been moved.
  std::uint64_t WalBytes() const;
  // As Checkpoint, for an idle writer: leaves a log file that commits write over and need not grow, of
  // `least` bytes unless the disk is nearly full, and gives back one that is far above `most`, which the
  // commit before a checkpoint oversteps.
  absl::Status TidyLog(std::uint64_t least, std::uint64_t most);

  // For this folder only.
  SQLite::Database& connection() { return *connection_; }

 private:
  Database(std::filesystem::path path, std::unique_ptr<StateLock> lock,
           std::unique_ptr<SQLite::Database> connection);

  std::filesystem::path path_;
  std::unique_ptr<StateLock> lock_;
  std::unique_ptr<SQLite::Database> connection_;
  int version_ = 0;
  std::uint32_t page_bytes_ = 4096;
  std::uint32_t wal_frames_ = 0;
};

// The status of an exception or a result code of SQLite, with what was being done.
absl::Status SqliteStatus(const SQLite::Exception& exception, const std::string& what);
absl::Status SqliteStatus(int extended_code, const std::string& message, const std::string& what);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_DATABASE_H_
