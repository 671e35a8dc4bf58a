#include "coordinator/store/backup.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "coordinator/store/database.h"
#include "coordinator/store/sqlite_handle.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr int kPagesAStep = 2048;
constexpr char kNoteName[] = "backups.json";
constexpr int kCheckSteps =
    100'000;  // Of SQLite's machine, between two looks at must_stop: some milliseconds.

absl::Status Stopped() { return absl::CancelledError("the backup was stopped before its end"); }

absl::Status AlreadyThere(const fs::path& file) {
  return absl::AlreadyExistsError(
      absl::StrCat(file.string(), " exists, and no backup is overwritten: name another file, or a folder"));
}

// Removes the file unless it was given away.
struct PartFile {
  fs::path path;
  ~PartFile() {
    std::error_code ignored;
    if (!path.empty()) fs::remove(path, ignored);
  }
};

absl::StatusOr<fs::path> MakePart(const fs::path& destination) {
  std::string name = absl::StrCat(destination.string(), ".XXXXXX.part");
  const int fd = ::mkostemps(name.data(), 5, O_CLOEXEC);
  if (fd < 0)
    return ErrnoStatus(absl::StrCat("cannot write a temporary file next to ", destination.string()));
  ::close(fd);
  return fs::path(name);
}

// Renames without replacing.
absl::Status RenameToFreeName(const fs::path& from, const fs::path& to) {
  const long moved = ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (moved != 0 && errno == EEXIST) return AlreadyThere(to);
  if (moved != 0 && errno != EINVAL && errno != ENOSYS)
    return ErrnoStatus(absl::StrCat("cannot make ", to.string()));
  if (moved != 0) {  // A file system that cannot rename so.
    std::error_code ignored;
    if (fs::exists(to, ignored)) return AlreadyThere(to);
    return RenameDurably(from, to);
  }
  return SyncPath(to.has_parent_path() ? to.parent_path() : fs::path("."));
}

absl::Status CheckSpace(sqlite3* source, const fs::path& destination) {
  ASSIGN_OR_RETURN(const std::int64_t pages, QueryInteger(source, "PRAGMA page_count"));
  ASSIGN_OR_RETURN(const std::int64_t page_bytes, QueryInteger(source, "PRAGMA page_size"));
  const auto needed = static_cast<std::uintmax_t>(pages * page_bytes);
  std::error_code error;
  const fs::path folder = destination.has_parent_path() ? destination.parent_path() : fs::path(".");
  const fs::space_info space = fs::space(folder, error);
  if (error) {
    return absl::NotFoundError(absl::StrCat("the folder ", folder.string(), " cannot be used for a backup: ",
                                            error.message(), "; make it, or name another one"));
  }
  if (space.available >= needed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the backup needs ", needed, " bytes and ",
                                                   folder.string(), " has ", space.available,
                                                   " left; free space or name another folder"));
}

absl::Status CopyPages(sqlite3* source, const fs::path& part, const BackupOptions& options) {
  const std::string doing = absl::StrCat("copying the database to ", part.string());
  ASSIGN_OR_RETURN(const SqliteHandle target, OpenForWriting(part));
  sqlite3* const raw = target.get();
  sqlite3_exec(raw, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
  sqlite3_backup* backup = sqlite3_backup_init(raw, "main", source, "main");
  if (backup == nullptr) return SqliteStatus(sqlite3_extended_errcode(raw), sqlite3_errmsg(raw), doing);
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    if (options.must_stop && options.must_stop()) {
      sqlite3_backup_finish(backup);
      return Stopped();
    }
    code = sqlite3_backup_step(backup, kPagesAStep);
    const int total = sqlite3_backup_pagecount(backup);
    if (options.progress && (code == SQLITE_OK || code == SQLITE_DONE))
      options.progress(total - sqlite3_backup_remaining(backup), total);
  }
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) return SqliteStatus(code, sqlite3_errstr(code), doing);
  // No log belongs to it (folder/binding.h). A database from before has no such table.
  sqlite3_exec(raw, "UPDATE identity SET start = ''", nullptr, nullptr, nullptr);
  return absl::OkStatus();
}

absl::Status CheckCopy(const fs::path& part, const BackupOptions& options) {
  ASSIGN_OR_RETURN(const SqliteHandle copy, OpenForReading(part, /*immutable=*/true));
  if (options.must_stop) {
    sqlite3_progress_handler(
        copy.get(), kCheckSteps,
        [](void* given) { return static_cast<const BackupOptions*>(given)->must_stop() ? 1 : 0; },
        const_cast<BackupOptions*>(&options));
  }
  const auto rows_read = QueryTexts(copy.get(), "PRAGMA integrity_check(1)");
  if (options.must_stop && options.must_stop()) return Stopped();
  ASSIGN_OR_RETURN(const auto rows, rows_read);
  if (rows.size() == 1 && rows[0][0] == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the database is damaged (",
                                          rows.empty() ? "no answer" : rows[0][0],
                                          "), so no backup was kept; `inlier doctor` shows more"));
}

}  // namespace

fs::path AutomaticBackupPath(const fs::path& database, int version, WallTime now, const std::string& reason) {
  std::string time;
  for (const char c : FormatUtc(now).substr(0, 23)) {
    if (c != '-' && c != ':') time += c;
  }
  fs::path path = database;
  path += absl::StrCat(".v", version, ".", time, "Z.", reason);
  return path;
}

absl::StatusOr<BackupResult> BackupConnection(sqlite3* source, const fs::path& destination,
                                              const BackupOptions& options) {
  const Timestamp start = MonotonicNow();
  BackupResult result;
  result.file = destination;
  std::error_code error;
  if (fs::exists(fs::symlink_status(destination, error))) return AlreadyThere(destination);
  RETURN_IF_ERROR(CheckSpace(source, destination));
  ASSIGN_OR_RETURN(fs::path part, MakePart(destination));
  PartFile kept{part};
  // One read transaction over all steps: the copy is of one moment, however long it takes.
  if (const int code = sqlite3_exec(source, "BEGIN; SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr);
      code != SQLITE_OK)
    return SqliteStatus(code, sqlite3_errmsg(source), "reading the database");
  const absl::StatusOr<std::int64_t> version = QueryInteger(source, "PRAGMA user_version");
  const absl::Status copied = CopyPages(source, part, options);
  sqlite3_exec(source, "COMMIT", nullptr, nullptr, nullptr);
  RETURN_IF_ERROR(version.status());
  RETURN_IF_ERROR(copied);
  result.schema_version = static_cast<int>(*version);
  RETURN_IF_ERROR(SyncPath(part));
  if (options.check) RETURN_IF_ERROR(CheckCopy(part, options));
  result.bytes = SizeOf(part);
  RETURN_IF_ERROR(RenameToFreeName(part, destination));
  kept.path.clear();
  result.duration = MonotonicNow() - start;
  return result;
}

absl::StatusOr<BackupResult> BackupStateFolder(const fs::path& state_dir, const fs::path& destination,
                                               const BackupOptions& options) {
  const fs::path database = state_dir / "inlier.db";
  std::error_code error;
  if (!fs::exists(database, error)) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", database.string(),
                     "; name the coordinator's state folder with --dir, on the machine "
                     "where it is"));
  }
  ASSIGN_OR_RETURN(const SqliteHandle source, OpenForReading(database));
  ASSIGN_OR_RETURN(const std::int64_t application, QueryInteger(source.get(), "PRAGMA application_id"));
  if (application != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat(database.string(), " is a database of another program"));
  }
  if (!fs::is_directory(destination, error)) return BackupConnection(source.get(), destination, options);
  ASSIGN_OR_RETURN(const std::int64_t version, QueryInteger(source.get(), "PRAGMA user_version"));
  return BackupConnection(
      source.get(),
      AutomaticBackupPath(destination / "inlier.db", static_cast<int>(version), WallNow(), options.reason),
      options);
}

absl::StatusOr<v1::BackupNote> ReadBackupNote(const fs::path& state_dir) {
  const fs::path path = state_dir / kNoteName;
  ASSIGN_OR_RETURN(const std::string json, ReadFile(path));
  v1::BackupNote note;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &note, options);
  if (parsed.ok()) return note;
  return absl::DataLossError(absl::StrCat(path.string(), " cannot be read: ", parsed.ToString(),
                                          "; remove it, the coordinator's next backup writes another"));
}

absl::Status WriteBackupNote(const fs::path& state_dir, const v1::BackupNote* note) {
  const fs::path path = state_dir / kNoteName;
  if (note == nullptr) {
    std::error_code error;
    fs::remove(path, error);
    if (!error) return absl::OkStatus();
    return absl::UnknownError(absl::StrCat("cannot remove ", path.string(), ": ", error.message()));
  }
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto printed = google::protobuf::util::MessageToJsonString(*note, &json, options);
  if (!printed.ok()) return absl::InternalError(absl::StrCat(kNoteName, ": ", printed.ToString()));
  return WriteFileAtomically(path, json + "\n");
}

}  // namespace inlier
