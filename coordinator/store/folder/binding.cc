#include "coordinator/store/folder/binding.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/uuid.h"
#include "coordinator/store/sqlite_handle.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kNotMadeYet[] = "not-made-yet";  // In place of an id.
constexpr const char* kFilesOfAttempts[] = {"attempts", "artifacts"};

struct Note {
  std::string id, start;  // Empty: not known.
};
Note NoteOf(const fs::path& state_dir) {
  const std::pair<std::string, std::string> words =
      absl::StrSplit(FolderNote(state_dir), absl::MaxSplits(' ', 1));
  return {words.first, words.second};
}

// The trace that shows that the folder had a database; empty: it had none.
std::string SignOfDatabase(const fs::path& state_dir) {
  const std::string noted = NoteOf(state_dir).id;
  if (noted == kNotMadeYet) return "";
  const fs::path file = state_dir / "inlier.db";
  std::error_code error;
  if (fs::exists(fs::symlink_status(file, error))) return absl::StrCat(file.string(), " is empty");
  const std::string missing = absl::StrCat("there is no ", file.string(), ", but ");
  for (const char* name : kFilesOfAttempts) {
    if (!EntriesOf(state_dir / name).empty())
      return absl::StrCat(missing, (state_dir / name).string(), " has files of one");
  }
  if (SizeOf(file.string() + "-wal") > 0)
    return absl::StrCat(missing, "its log, ", file.string(), "-wal, is there");
  return noted.empty() ? "" : absl::StrCat(missing, "a coordinator has worked on one here");
}

absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (EntriesOf(from).empty()) return absl::OkStatus();
  fs::remove(to, error);  // An empty folder.
  RETURN_IF_ERROR(MakeFolder(to.parent_path()));
  RETURN_IF_ERROR(RenameDurably(from, to));
  spdlog::warn("files_moved from={} to={} reason=\"they belong to another database\"", LogText(from.string()),
               LogText(to.string()));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHasDatabase(const fs::path& state_dir, bool make_new) {
  const fs::path file = state_dir / "inlier.db";
  if (SizeOf(file) > 0) {
    if (!make_new) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        file.string(), " is there: start without --new-database, or move it away with its -wal file first"));
  }
  const std::string sign = SignOfDatabase(state_dir);
  if (sign.empty() || make_new) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      sign,
      ". Nothing was changed. Put the database back (with its -wal file, if it has one), or copy a backup "
      "to ",
      file.string(), "; --new-database starts with an empty one, and keeps the files of the other in ",
      (state_dir / "set-aside").string()));
}

absl::Status CheckLogBelongs(const fs::path& state_dir) {
  const fs::path file = state_dir / "inlier.db", log = file.string() + "-wal";
  const std::string noted = NoteOf(state_dir).start;
  if (noted.empty() || SizeOf(log) == 0 || SizeOf(file) == 0) return absl::OkStatus();
  // Without the log, and so not readable where a kill or a full disk cut a move of the log short.
  ASSIGN_OR_RETURN(const SqliteHandle connection, OpenForReading(file, /*immutable=*/true));
  const auto rows = QueryTexts(connection.get(), "SELECT start FROM identity");
  if (!rows.ok() || (rows->size() == 1 && (*rows)[0][0] == noted)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(log.string(), " is the log of another file than ", file.string(),
                   ", which was replaced. Nothing was changed. Move the log away to use the database as it "
                   "is, or put the log's database back"));
}

absl::Status NoteNewDatabase(const fs::path& state_dir, const FileLock& lock) {
  std::string old = NoteOf(state_dir).id;
  if (old.empty()) old = "unknown-" + RandomUuid();
  if (old != kNotMadeYet) {
    // A log without its database would be removed.
    const fs::path log = state_dir / "inlier.db-wal", kept = state_dir / "set-aside" / old / "inlier.db-wal";
    if (SizeOf(log) > 0) {
      RETURN_IF_ERROR(MakeFolder(kept.parent_path()));
      RETURN_IF_ERROR(RenameDurably(log, kept));
    }
    for (const char* name : kFilesOfAttempts)
      RETURN_IF_ERROR(Move(state_dir / name, state_dir / "set-aside" / old / name));
  }
  return SetFolderNote(lock, kNotMadeYet);
}

absl::Status BindFolder(const fs::path& state_dir, const FileLock& lock, const std::string& id) {
  const std::string noted = NoteOf(state_dir).id;
  const bool of_another = !noted.empty() && noted != kNotMadeYet && noted != id;
  for (const char* name : kFilesOfAttempts) {
    if (of_another) RETURN_IF_ERROR(Move(state_dir / name, state_dir / "set-aside" / noted / name));
  }
  RETURN_IF_ERROR(SetFolderNote(lock, id));
  for (const char* name : kFilesOfAttempts) {
    if (EntriesOf(state_dir / name).empty())
      RETURN_IF_ERROR(Move(state_dir / "set-aside" / id / name, state_dir / name));
  }
  return absl::OkStatus();
}

bool AlsoHas(const fs::path& home, const fs::path& state_dir, const std::string& id) {
  if (home.empty() || SizeOf(home / "inlier.db") == 0 || NoteOf(home).id != id) return false;
  std::error_code error;
  return !fs::equivalent(StateLockPath(home), StateLockPath(state_dir), error);
}

absl::Status NoteStart(const FileLock& lock, const std::string& id, const std::string& start) {
  return SetFolderNote(lock, absl::StrCat(id, " ", start));
}

}  // namespace inlier
