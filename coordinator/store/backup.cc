#include "coordinator/store/backup.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <regex>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/files/file.h"
#include "base/status.h"
#include "coordinator/store/database.h"
#include "coordinator/store/sqlite_handle.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr int kPagesAStep = 2048;
constexpr char kKeptReason[] = "scheduled";

absl::Status AlreadyThere(const fs::path& file) {
  return absl::AlreadyExistsError(
      absl::StrCat(file.string(), " exists, and no backup is overwritten: name another file, or a folder"));
}

absl::StatusOr<fs::path> MakePart(const fs::path& destination) {
  std::string name = absl::StrCat(destination.string(), ".XXXXXX.part");
  const int fd = ::mkostemps(name.data(), 5, O_CLOEXEC);
  if (fd < 0)
    return ErrnoStatus(absl::StrCat("cannot write a temporary file next to ", destination.string()));
  ::close(fd);
  return fs::path(name);
}

fs::path FolderOf(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

// Renames without replacing.
absl::Status RenameToFreeName(const fs::path& from, const fs::path& to) {
  const long moved = ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (moved != 0 && errno == EEXIST) return AlreadyThere(to);
  if (moved != 0 && errno != EINVAL && errno != ENOSYS)
    return ErrnoStatus(absl::StrCat("cannot make ", to.string()));
  if (moved == 0) return SyncPath(FolderOf(to));
  std::error_code ignored;  // A file system that cannot rename so.
  return fs::exists(to, ignored) ? AlreadyThere(to) : RenameDurably(from, to);
}

absl::Status CheckSpace(sqlite3* source, const fs::path& destination) {
  ASSIGN_OR_RETURN(const std::int64_t pages, QueryInteger(source, "PRAGMA page_count"));
  ASSIGN_OR_RETURN(const std::int64_t page_bytes, QueryInteger(source, "PRAGMA page_size"));
  const auto needed = static_cast<std::uintmax_t>(pages * page_bytes);
  std::error_code error;
  const fs::path folder = FolderOf(destination);
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
  sqlite3_backup* const backup = sqlite3_backup_init(raw, "main", source, "main");
  if (backup == nullptr) return SqliteStatus(sqlite3_extended_errcode(raw), sqlite3_errmsg(raw), doing);
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    code = sqlite3_backup_step(backup, kPagesAStep);
    const int total = sqlite3_backup_pagecount(backup);
    if (options.progress && (code == SQLITE_OK || code == SQLITE_DONE))
      options.progress(total - sqlite3_backup_remaining(backup), total);
  }
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) return SqliteStatus(code, sqlite3_errstr(code), doing);
  // No log belongs to it (folder/binding.h). An older database lacks the table.
  sqlite3_exec(raw, "UPDATE identity SET start = ''", nullptr, nullptr, nullptr);
  return absl::OkStatus();
}

absl::Status CheckCopy(const fs::path& part) {
  ASSIGN_OR_RETURN(const SqliteHandle copy, OpenForReading(part, /*immutable=*/true));
  ASSIGN_OR_RETURN(const auto rows, QueryTexts(copy.get(), "PRAGMA integrity_check(1)"));
  if (rows.size() == 1 && rows[0][0] == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the database is damaged (",
                                          rows.empty() ? "no answer" : rows[0][0],
                                          "), so no backup was kept; `inlier doctor` shows more"));
}

absl::Status CheckFolderOfKept(const fs::path& state_dir, const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat(folder.string(), " is not a folder", error ? ": " : "",
                                            error ? error.message() : "",
                                            "; mount its disk, make it, or name another one"));
  }
  const fs::path inside = fs::canonical(folder, error).lexically_relative(fs::canonical(state_dir, error));
  if (inside.empty() || *inside.begin() == "..") return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(folder.string(), " is in the state folder (",
                                                 state_dir.string(),
                                                 "), and what destroys the database would destroy its "
                                                 "backups; name a folder outside, best on another disk"));
}

// The time in the name of a backup that was made with `keep`, "20261122T021623.123Z"; "" for every other
// name.
std::string TimeOfKept(const fs::path& file) {
  static const std::regex form(R"(inlier\.db\.v\d+\.(\d{8}T\d{6}\.\d{3}Z)\.)" + std::string(kKeptReason));
  const std::string name = file.filename();
  std::smatch match;
  return std::regex_match(name, match, form) ? match.str(1) : "";
}

// Removes the oldest backups in the folder of `made` until `keep` are left with it, and returns their number. One that
// is newer than `made` counts as the oldest: its clock was wrong.
absl::StatusOr<std::size_t> RemoveOlder(const fs::path& made, std::size_t keep) {
  std::vector<std::pair<std::string, fs::path>> older;
  std::error_code error;
  for (const fs::path& file : EntriesOf(made.parent_path())) {
    const std::string time = TimeOfKept(file);
    if (time.empty() || file == made || !fs::is_regular_file(fs::symlink_status(file, error))) continue;
    older.emplace_back(time > TimeOfKept(made) ? "" : time, file);
  }
  std::ranges::sort(older);
  std::size_t removed = 0;
  for (; removed + keep <= older.size(); ++removed) {
    const fs::path& file = older[removed].second;
    if (fs::remove(file, error) || !error) continue;
    return absl::UnknownError(absl::StrCat("the backup ", made.string(), " was made, but the older one ",
                                           file.string(), " cannot be removed: ", error.message(),
                                           "; remove it by hand, or correct the rights of the folder"));
  }
  return removed;
}

absl::StatusOr<BackupResult> BackupConnection(sqlite3* source, const fs::path& destination,
                                              const BackupOptions& options) {
  const Timestamp start = MonotonicNow();
  BackupResult result;
  result.file = destination;
  std::error_code error;
  if (fs::exists(fs::symlink_status(destination, error))) return AlreadyThere(destination);
  RETURN_IF_ERROR(CheckSpace(source, destination));
  ASSIGN_OR_RETURN(const fs::path part, MakePart(destination));
  absl::Cleanup remove_part = [&part] {
    std::error_code ignored;
    fs::remove(part, ignored);
  };
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
  if (options.check) RETURN_IF_ERROR(CheckCopy(part));
  result.bytes = SizeOf(part);
  RETURN_IF_ERROR(RenameToFreeName(part, destination));
  std::move(remove_part).Cancel();
  result.duration = MonotonicNow() - start;
  return result;
}

}  // namespace

absl::StatusOr<BackupResult> BackupBeside(sqlite3* source, const fs::path& database, int version,
                                          const std::string& reason, const BackupOptions& options) {
  const std::string time = absl::StrReplaceAll(FormatUtc(WallNow()).substr(0, 23), {{"-", ""}, {":", ""}});
  return BackupConnection(source, absl::StrCat(database.string(), ".v", version, ".", time, "Z.", reason),
                          options);
}

absl::StatusOr<BackupResult> BackupStateFolder(const fs::path& state_dir, const fs::path& destination,
                                               const BackupOptions& options) {
  const fs::path database = state_dir / "inlier.db";
  std::error_code error;
  if (!fs::exists(database, error)) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", database.string(),
                     "; name the coordinator's state folder with --dir, on the machine where it is"));
  }
  ASSIGN_OR_RETURN(const SqliteHandle source, OpenForReading(database));
  ASSIGN_OR_RETURN(const std::int64_t application, QueryInteger(source.get(), "PRAGMA application_id"));
  if (application != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat(database.string(), " is a database of another program"));
  }
  if (options.keep > 0) RETURN_IF_ERROR(CheckFolderOfKept(state_dir, destination));
  if (!fs::is_directory(destination, error)) return BackupConnection(source.get(), destination, options);
  ASSIGN_OR_RETURN(const std::int64_t version, QueryInteger(source.get(), "PRAGMA user_version"));
  ASSIGN_OR_RETURN(BackupResult made,
                   BackupBeside(source.get(), destination / "inlier.db", static_cast<int>(version),
                                options.keep > 0 ? kKeptReason : "backup", options));
  if (options.keep == 0) return made;
  ASSIGN_OR_RETURN(made.removed, RemoveOlder(made.file, options.keep));
  return made;
}

}  // namespace inlier
