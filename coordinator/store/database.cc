#include "coordinator/store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/failpoint.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/uuid.h"
#include "base/version.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/folder/binding.h"
#include "coordinator/store/sql_name.h"
#include "coordinator/store/sqlite_handle.h"
#include "coordinator/store/views/param_view.h"
#include "coordinator/store/views/program_list.h"

namespace inlier {
namespace {

// The writer waits so long for a lock: callers get the reason of a longer one within a second.
constexpr int kCommitBusyMs = 700;
constexpr int kWalFrameHeaderBytes = 24;  // sqlite.org/walformat.html, section 1.2.
constexpr std::int64_t kLogFileBytesMax = std::int64_t{40} << 20;

// SQLite counts its allocations under a lock of the process, and the count is not used.
void DisableMemoryStatistics() {
  static const int done = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(done);  // Refused once SQLite is in use.
}

std::int64_t ReadInteger(SQLite::Database& connection, const std::string& sql) {
  return connection.execAndGet(sql).getInt64();
}

// True for a new file, false for a database of ours. SQLite recovers a WAL that a crash left behind when the
// file is first read.
absl::StatusOr<bool> CheckOurs(SQLite::Database& connection, const std::string& path, int newest) {
  if (sqlite3_db_readonly(connection.getHandle(), "main") == 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     " cannot be written; make the file and its folder writable for this user, or name "
                     "another folder with --set state_dir=FOLDER"));
  }
  const std::int64_t application = ReadInteger(connection, "PRAGMA application_id");
  const std::int64_t version = ReadInteger(connection, "PRAGMA user_version");
  if (application == 0 && version == 0 && ReadInteger(connection, "SELECT count(*) FROM sqlite_schema") == 0)
    return true;
  if (application != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s is a database of another program (application_id 0x%08x, inlier's is 0x%08x); "
                        "name another folder with --set state_dir=FOLDER",
                        path, application, kApplicationId));
  }
  ASSIGN_OR_RETURN(const bool too_old, IsFromBeforeRelease(connection.getHandle()));
  if (too_old) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     " was made before the first release, and its tables cannot be read: start with an empty "
                     "state folder (--set state_dir=FOLDER), or keep using the program that made it"));
  }
  if (version > newest) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s has schema version %d, written by a newer inlier; this one (%s) knows versions "
                        "up to %d: use the newer program, or name another folder with --set state_dir=FOLDER",
                        path, version, Version(), newest));
  }
  if (version < 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is marked as inlier's but has no schema version; restore it from a backup"));
  }
  return false;
}

// True if the latest failed write failed because of a quota. `which`: SQLITE_FCNTL_FILE_POINTER for the
// database, SQLITE_FCNTL_JOURNAL_POINTER for its log.
bool IsOverQuota(sqlite3* connection, int which) {
  sqlite3_file* file = nullptr;
  int error = 0;
  return sqlite3_file_control(connection, "main", which, static_cast<void*>(&file)) == SQLITE_OK &&
         file != nullptr && file->pMethods != nullptr &&
         file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK && error == EDQUOT;
}

absl::Status Migrate(SQLite::Database& connection, const std::filesystem::path& path,
                     const std::vector<Migration>& migrations, bool fresh) {
  for (const Migration& migration : migrations) {
    const std::int64_t version = ReadInteger(connection, "PRAGMA user_version");
    if (migration.to_version <= version) continue;
    INLIER_CHECK(migration.to_version == version + 1);
    if (!fresh) {  // A complete copy is on disk before anything is changed.
      const absl::StatusOr<BackupResult> backup =
          BackupBeside(connection.getHandle(), path, static_cast<int>(version), "backup");
      if (!backup.ok()) {
        return Annotate(backup.status(),
                        absl::StrCat("backing up ", path.string(), " before it is brought to schema version ",
                                     migration.to_version, "; nothing was changed"));
      }
      spdlog::info("database_backed_up version={} file={} bytes={}", version, backup->file.string(),
                   backup->bytes);
    }
    // While a table is made again, rows that name its rows have no target.
    connection.exec("PRAGMA foreign_keys = OFF");
    SQLite::Transaction transaction(connection, SQLite::TransactionBehavior::IMMEDIATE);
    connection.exec(migration.sql);
    if (SQLite::Statement broken(connection, "PRAGMA foreign_key_check"); broken.executeStep()) {
      return absl::DataLossError(absl::StrCat(
          path.string(), ": bringing it to schema version ", migration.to_version, " found a row of ",
          broken.getColumn(0).getString(), " that names a row of ", broken.getColumn(2).getString(),
          ", which is not there; nothing was changed: restore inlier.db from a backup"));
    }
    connection.exec(absl::StrFormat("PRAGMA application_id = %d; PRAGMA user_version = %d", kApplicationId,
                                    migration.to_version));
    Failpoint("migration.before");
    transaction.commit();
    connection.exec("PRAGMA foreign_keys = ON");
    Failpoint("migration.after");
    spdlog::info("database_migrated to_version={} migration={}", migration.to_version, migration.name);
  }
  return absl::OkStatus();
}

// Replaces views whose text is not what this program writes, and removes those it no longer has.
absl::Status ReplaceViews(SQLite::Database& connection) {
  std::vector<std::pair<std::string, std::string>> stored;
  SQLite::Statement views(connection,
                          "SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY rowid");
  while (views.executeStep())
    stored.emplace_back(views.getColumn(0).getString(), views.getColumn(1).getString());
  ASSIGN_OR_RETURN(const auto programs, ReadPrograms(connection.getHandle()));
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const View& view : UserViews(programs)) wanted.emplace_back(view.name, view.CreateSql());
  if (stored == wanted) return absl::OkStatus();
  connection.exec("SAVEPOINT views");
  for (const auto& [name, sql] : stored) connection.exec(absl::StrCat("DROP VIEW ", SqlName(name)));
  for (const auto& [name, sql] : wanted) connection.exec(sql);
  connection.exec("RELEASE views");
  return absl::OkStatus();
}

}  // namespace

absl::Status SqliteStatus(int extended_code, const std::string& message, const std::string& what) {
  const std::string text = absl::StrCat(what, ": ", message);
  // SQLITE_IOERR_SHMSIZE: the -shm file cannot grow.
  const bool full = extended_code == SQLITE_FULL || extended_code == SQLITE_IOERR_SHMSIZE;
  switch (full ? SQLITE_FULL : extended_code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          absl::StrCat(text, "; free space on the file system of the state folder, or raise its quota"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(
          absl::StrCat(text, "; another program holds a lock on the database: end it"));
    case SQLITE_NOTADB:
      return absl::FailedPreconditionError(absl::StrCat(text,
                                                        "; it is not an SQLite database: move it away, or "
                                                        "name another folder with --set state_dir=FOLDER"));
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::FailedPreconditionError(
          absl::StrCat(text, "; make the state folder and inlier.db writable for this user"));
    case SQLITE_IOERR:
      return absl::DataLossError(
          absl::StrCat(text, " (SQLite's code ", extended_code,
                       "); the disk failed: what was acknowledged is in inlier.db and its -wal file"));
    case SQLITE_CORRUPT:
      return absl::DataLossError(absl::StrCat(text,
                                              "; the file is damaged: restore inlier.db from a backup, or "
                                              "salvage it with `sqlite3 inlier.db .recover`"));
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::Status SqliteStatus(const SQLite::Exception& exception, const std::string& what) {
  return SqliteStatus(
      exception.getExtendedErrorCode() > 0 ? exception.getExtendedErrorCode() : exception.getErrorCode(),
      exception.what(), what);
}

Database::Database(std::filesystem::path path, FileLock lock, std::unique_ptr<SQLite::Database> connection)
    : path_(std::move(path)), lock_(std::move(lock)), connection_(std::move(connection)) {}

Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::filesystem::path& state_dir,
                                                         const std::vector<Migration>& migrations,
                                                         std::optional<FileLock> lock, bool make_new) {
  INLIER_CHECK(!migrations.empty());
  RETURN_IF_ERROR(MakeWritableFolder(state_dir));
  if (!lock) {
    ASSIGN_OR_RETURN(FileLock taken, LockStateFolder(state_dir));
    lock.emplace(std::move(taken));
  }
  RETURN_IF_ERROR(CheckHasDatabase(state_dir, make_new));
  RETURN_IF_ERROR(CheckLogBelongs(state_dir));
  const std::filesystem::path path = state_dir / "inlier.db";
  if (SizeOf(path) == 0) RETURN_IF_ERROR(NoteNewDatabase(state_dir, *lock));
  DisableMemoryStatistics();
  try {
    auto connection = std::make_unique<SQLite::Database>(
        path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX, kBusyTimeoutMs);
    sqlite3_extended_result_codes(connection->getHandle(), 1);
    ASSIGN_OR_RETURN(const bool fresh, CheckOurs(*connection, path.string(), migrations.back().to_version));
    connection->exec(absl::StrCat(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0; "
        "PRAGMA cache_size = -16384; PRAGMA recursive_triggers = OFF; PRAGMA journal_size_limit = ",
        kLogFileBytesMax));
    const std::string mode = connection->execAndGet("PRAGMA journal_mode = WAL").getString();
    if (mode != "wal") {
      return absl::FailedPreconditionError(absl::StrCat(path.string(),
                                                        " cannot be used in WAL mode (it stays in \"", mode,
                                                        "\"); put the state folder on a local file system"));
    }
    RETURN_IF_ERROR(Migrate(*connection, path, migrations, fresh));
    RETURN_IF_ERROR(ReplaceViews(*connection));
    std::unique_ptr<Database> database(new Database(path, *std::move(lock), std::move(connection)));
    database->version_ = static_cast<int>(ReadInteger(*database->connection_, "PRAGMA user_version"));
    database->page_bytes_ =
        static_cast<std::uint32_t>(ReadInteger(*database->connection_, "PRAGMA page_size"));
    sqlite3_wal_hook(
        database->connection_->getHandle(),
        [](void* frames, sqlite3*, const char*, int count) {
          *static_cast<std::uint32_t*>(frames) = static_cast<std::uint32_t>(count);
          return SQLITE_OK;
        },
        &database->wal_frames_);
    RETURN_IF_ERROR(database->Bind());
    database->wal_inode_ = InodeOf(path.string() + "-wal");
    return database;
  } catch (const SQLite::Exception& exception) {
    return SqliteStatus(exception, absl::StrCat("opening ", path.string()));
  }
}

absl::Status Database::Bind() {
  const std::filesystem::path state_dir = path_.parent_path();
  const std::string start = RandomUuid();
  if (ReadInteger(*connection_, "SELECT count(*) FROM sqlite_schema WHERE name = 'identity'") == 1) {
    id_ = connection_->execAndGet("SELECT id FROM identity").getString();
    RETURN_IF_ERROR(BindFolder(state_dir, lock_, id_));
    connection_->exec(absl::StrCat("UPDATE identity SET start = '", start, "'"));
  }
  RETURN_IF_ERROR(CheckpointWal(/*truncate=*/true));
  return id_.empty() || WalBytes() > 0 ? absl::OkStatus() : NoteStart(lock_, id_, start);
}

absl::Status Database::RefreshViews() { return ReplaceViews(*connection_); }

absl::Status Database::CheckpointWal(bool truncate) {
  sqlite3* handle = connection_->getHandle();
  Failpoint("wal.move.before");
  int frames = 0;
  int moved = 0;
  // Truncation would wait for readers as long as the busy handler does; the writer has better things to do.
  sqlite3_busy_timeout(handle, 0);
  int code = sqlite3_wal_checkpoint_v2(
      handle, "main", truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &frames, &moved);
  sqlite3_busy_timeout(handle, kCommitBusyMs);
  Failpoint("wal.move.after");
  if (code == SQLITE_IOERR_WRITE && IsOverQuota(handle, SQLITE_FCNTL_FILE_POINTER)) code = SQLITE_FULL;
  if (code == SQLITE_OK && frames == moved) wal_frames_ = 0;
  if (code == SQLITE_OK) return absl::OkStatus();
  absl::Status status =
      SqliteStatus(code, code == SQLITE_FULL ? sqlite3_errstr(code) : sqlite3_errmsg(handle),
                   absl::StrCat("copying the log into ", path_.string()));
  return absl::IsUnavailable(status) ? absl::OkStatus() : status;
}

std::string Database::DisplacedFile() {
  int moved = 0;
  const int code = sqlite3_file_control(connection_->getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (code == SQLITE_OK && moved != 0) return path_.string();
  const std::string log = path_.string() + "-wal";
  if (wal_inode_ != 0 && InodeOf(log) != wal_inode_) return log;
  const std::filesystem::path lock = StateLockPath(path_.parent_path());
  struct stat held = {};
  if (::fstat(lock_.fd(), &held) == 0 && InodeOf(lock) != held.st_ino) return lock.string();
  return "";
}

absl::StatusOr<std::filesystem::path> Database::Rescue() {
  ASSIGN_OR_RETURN(const BackupResult rescued,
                   BackupBeside(connection_->getHandle(), path_, version_, "rescued"));
  return rescued.file;
}

absl::Status Database::WriteStatus(const SQLite::Exception& exception) const {
  const std::string what = absl::StrCat("writing to ", path_.string());
  if (exception.getExtendedErrorCode() == SQLITE_IOERR_WRITE &&
      IsOverQuota(connection_->getHandle(), SQLITE_FCNTL_JOURNAL_POINTER))
    return SqliteStatus(SQLITE_FULL, sqlite3_errstr(SQLITE_FULL), what);
  return SqliteStatus(exception, what);
}

std::uint64_t Database::WalBytes() const {
  return std::uint64_t{wal_frames_} * (page_bytes_ + kWalFrameHeaderBytes);
}

}  // namespace inlier
