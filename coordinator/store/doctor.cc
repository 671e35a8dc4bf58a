#include "coordinator/store/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/data/checked_files.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/database.h"
#include "coordinator/store/folder/binding.h"
#include "coordinator/store/folder/database_copy.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/sqlite_handle.h"
#include "s3/bucket_note.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownOfACheck = 20;
constexpr std::uint64_t kFreeBytesMin = std::uint64_t{256} << 20;
constexpr auto kLeftoverAge = std::chrono::hours(1);
constexpr char kIntegrity[] = "integrity";
constexpr char kLeftover[] = "leftover_file";

// A file that a program was writing when it was killed.
bool IsLeftover(const fs::path& file) {
  const std::string name = file.filename();
  const bool temporary = absl::StartsWith(name, ".writable.") || absl::StartsWith(name, "endpoint.json.") ||
                         (absl::StartsWith(name, "inlier.db.") && absl::EndsWith(name, ".part"));
  std::error_code error;
  if (!temporary || !fs::is_regular_file(fs::symlink_status(file, error))) return false;
  const auto written = fs::last_write_time(file, error);
  return !error && fs::file_time_type::clock::now() - written > kLeftoverAge;
}

// True when an index can be rebuilt from its sound table.
bool IsOfAnIndex(const std::string& message) {
  return absl::StrContains(message, "missing from index") ||
         absl::StrContains(message, "wrong # of entries in index");
}

class Examination {
 public:
  Examination(const fs::path& state_dir, const DoctorOptions& options)
      : state_dir_(state_dir), options_(options) {}

  absl::StatusOr<DoctorReport> Run() {
    // Files before rows: a folder is made after its lease is committed, so a folder without a row has none.
    const std::vector<fs::path> attempts = AttemptFolders();
    const std::vector<fs::path> artifacts = EntriesOf(state_dir_ / "artifacts");
    std::optional<DatabaseCopy> copy;
    if (::access(state_dir_.c_str(), W_OK) != 0) {
      ASSIGN_OR_RETURN(DatabaseCopy made, DatabaseCopy::Make(state_dir_));
      copy.emplace(std::move(made));
    }
    if (const absl::Status log = CheckLogBelongs(state_dir_); !log.ok()) {
      report_.checks.push_back("log");
      Problem("log", std::string(log.message()), "move one of the two files away");
      return std::move(report_);
    }
    ASSIGN_OR_RETURN(database_, OpenForReading((copy ? copy->path() : state_dir_) / "inlier.db"));
    if (CheckDatabase()) {
      CheckRules();
      CheckAttemptFolders(attempts);
      CheckArtifactFiles(artifacts);
      CheckArtifactRows();
      CheckCheckpoints();
      CheckMissingCheckpoints();
      if (unread_bytes_ > 0)
        Note("artifact_row", absl::StrCat(unread_bytes_, " bytes of artifacts and checkpoints were not read"),
             "`inlier doctor --deep` compares their digests, too");
    }
    database_.reset();  // Before its copy.
    CheckLeftovers();
    CheckSpace();
    return std::move(report_);
  }

 private:
  void Problem(const std::string& check, std::string what, std::string remedy, bool repairable = false) {
    report_.findings.push_back({check, true, std::move(what), std::move(remedy), repairable});
  }
  void Note(const std::string& check, std::string what, std::string remedy, bool repairable = false) {
    report_.findings.push_back({check, false, std::move(what), std::move(remedy), repairable});
  }

  // The rows of a check's SQL; a check that cannot run is itself a problem.
  std::vector<std::vector<std::string>> Ask(const std::string& check, const std::string& sql) {
    report_.checks.push_back(check);
    auto rows = QueryTexts(database_.get(), sql);
    if (rows.ok()) return *std::move(rows);
    if (report_.schema_version < report_.schema_version_known) {
      Note(check, "is not checked: the database is of an earlier version",
           "check again when the coordinator has brought it forward");
      return {};
    }
    Problem(check, absl::StrCat("the check cannot run: ", std::string(rows.status().message())),
            "restore a backup, or salvage the file with `sqlite3 inlier.db .recover`");
    return {};
  }

  // Returns false when the rows cannot be checked.
  bool CheckDatabase() {
    report_.schema_version_known = BuiltinMigrations().back().to_version;
    const fs::path file = state_dir_ / "inlier.db";
    report_.database_bytes = SizeOf(file) + SizeOf(file.string() + "-wal");
    report_.checks.push_back("schema_version");
    const absl::StatusOr<std::int64_t> application = QueryInteger(database_.get(), "PRAGMA application_id");
    if (!application.ok() || *application != kApplicationId) {
      Problem("schema_version",
              absl::StrCat(file.string(), application.ok() ? " is a database of another program" : ": ",
                           application.ok() ? "" : std::string(application.status().message())),
              "restore inlier.db from a backup, or name another folder with --dir");
      return false;
    }
    const absl::StatusOr<std::int64_t> version = QueryInteger(database_.get(), "PRAGMA user_version");
    report_.schema_version = version.ok() ? static_cast<int>(*version) : 0;
    if (const absl::StatusOr<bool> too_old = IsFromBeforeRelease(database_.get()); too_old.ok() && *too_old) {
      Problem(
          "schema_version",
          absl::StrCat(file.string(), " was made before the first release, and its tables cannot be read"),
          "start with an empty state folder, or keep using the program that made it");
      return false;
    }
    if (report_.schema_version > report_.schema_version_known) {
      Problem("schema_version",
              absl::StrCat("the database has schema version ", report_.schema_version,
                           ", this program knows ", report_.schema_version_known),
              "use the newer program");
      return false;
    }
    if (report_.schema_version < report_.schema_version_known) {
      Note("schema_version",
           absl::StrCat("the database has schema version ", report_.schema_version, ", this program ",
                        report_.schema_version_known),
           "nothing: the coordinator brings it forward at its next start, after a backup");
    }
    const auto messages = Ask(kIntegrity, "PRAGMA integrity_check");
    for (const auto& row : messages) {
      if (row[0] == "ok") continue;
      const bool index = IsOfAnIndex(row[0]);
      Problem(kIntegrity, row[0],
              index ? "inlier doctor --repair rebuilds the indexes"
                    : "restore a backup, or salvage the file with `sqlite3 inlier.db .recover`",
              index);
    }
    for (const auto& row : Ask("foreign_keys", "PRAGMA foreign_key_check")) {
      Problem("foreign_keys",
              absl::StrCat("row ", row[1], " of ", row[0], " names a row of ", row[2], " that is not there"),
              "restore a backup from before");
    }
    return !messages.empty();
  }

  void CheckRules() {
    for (const StoreRule& rule : StoreRules()) {
      const auto rows = Ask(rule.name, rule.sql);
      for (std::size_t i = 0; i < rows.size() && i < kShownOfACheck; ++i) {
        Problem(rule.name, absl::StrCat(rows[i][0], " (", rule.meaning, ")"), rule.remedy,
                rule.repair_sql != nullptr);
      }
      if (rows.size() > kShownOfACheck) {
        Problem(rule.name, absl::StrCat("and ", rows.size() - kShownOfACheck, " more"), rule.remedy);
      }
    }
  }

  std::vector<fs::path> AttemptFolders() const {
    std::vector<fs::path> folders;
    for (const fs::path& stage : EntriesOf(state_dir_ / "attempts")) {
      for (const fs::path& attempt : EntriesOf(stage)) folders.push_back(attempt);
    }
    return folders;
  }

  void CheckAttemptFolders(const std::vector<fs::path>& folders) {
    std::set<std::string> known;
    for (const auto& row : Ask("attempt_folder", "SELECT 'st-' || stage || '/' || token FROM attempt"))
      known.insert(row[0]);
    for (const fs::path& folder : folders) {
      const std::string name =
          absl::StrCat(folder.parent_path().filename().string(), "/", folder.filename().string());
      if (known.contains(name)) continue;
      Note("attempt_folder", absl::StrCat(folder.string(), " is of no attempt of this database"),
           "a restored backup may be older than its attempts; remove the folder if it is not needed");
    }
  }

  void CheckArtifactFiles(const std::vector<fs::path>& files) {
    std::set<std::string> known;
    for (const auto& row : Ask("artifact_file", "SELECT path FROM artifact WHERE final = 1"))
      known.insert(row[0]);
    for (const fs::path& file : files) {
      const std::string name = absl::StrCat("artifacts/", file.filename().string());
      if (file.extension() == kDamagedSuffix)
        Note("artifact_file",
             absl::StrCat(file.string(), " was put aside: its content did not have its digest"),
             "`inlier gc` removes it in time");
      if (file.extension() != ".safetensors" || known.contains(name)) continue;
      Note("artifact_file", absl::StrCat(file.string(), " is of no attempt of this database"),
           "its worker may not have reported it yet; otherwise remove it if it is not needed");
    }
  }

  // Checks final artifacts only, of stages that `inlier gc` has left whole: a checkpoint to resume from is removed when it is no
  // longer needed.
  void CheckArtifactRows() {
    const std::string check = "artifact_row";
    std::error_code error;
    if (!fs::is_directory(state_dir_ / "artifacts", error)) return;  // The workers use another folder.
    const std::string bucket = BucketOf(state_dir_);
    if (!bucket.empty())
      Note(check, absl::StrCat("models are in ", bucket, ", which is not checked"),
           "`inlier gc --dry-run` lists the files there");
    for (const auto& row :
         Ask(check,
             "SELECT DISTINCT path, bytes, sha256 FROM artifact JOIN stage ON "
             "stage.result_token = artifact.token WHERE final = 1 AND fate = 'WHOLE' ORDER BY path")) {
      const fs::path file = state_dir_ / row[0];
      const std::string remedy =
          "copy the file back from a worker or a backup; without it, stages that need it cannot run here";
      if (!fs::exists(file, error)) {
        if (!bucket.empty()) continue;
        Problem(check, absl::StrCat(file.string(), " is missing"), remedy);
        continue;
      }
      if (std::to_string(SizeOf(file)) != row[1]) {
        Problem(check, absl::StrCat(file.string(), " has ", SizeOf(file), " bytes, recorded are ", row[1]),
                remedy);
        continue;
      }
      const absl::Status sound = Read(file, row[2]);
      if (!sound.ok()) Problem(check, std::string(sound.message()), remedy);
    }
  }

  // Checks a file's digest, as far as the options allow.
  absl::Status Read(const fs::path& file, const std::string& sha256) {
    const std::uint64_t bytes = SizeOf(file);
    if (!options_.deep && read_bytes_ + bytes > options_.read_bytes_max) {
      unread_bytes_ += bytes;
      return absl::OkStatus();
    }
    read_bytes_ += bytes;
    return CheckedFiles().Check(file, sha256);
  }

  // Checks the checkpoints that trainings may resume from. A damaged one only costs time.
  void CheckCheckpoints() {
    const std::string check = "checkpoint";
    const std::string sql = absl::StrCat(
        "SELECT artifact.path, artifact.sha256, 'st-' || stage.id FROM artifact JOIN attempt ON "
        "attempt.token = artifact.token JOIN stage ON stage.id = attempt.stage WHERE "
        "stage.result_token IS NULL AND final = 0 AND artifact.sha256 <> '' AND NOT ",
        kWasPassedOver, " ORDER BY stage.id, step DESC");
    for (const auto& row : Ask(check, sql)) {
      const absl::Status sound = Read(state_dir_ / row[0], row[1]);
      if (sound.ok() || absl::IsNotFound(sound)) continue;
      Note(
          check, std::string(sound.message()),
          absl::StrCat("nothing: the training of ", row[2], " resumes from the one before, or starts again"));
    }
  }

  // Each training without a result has its newest checkpoint or another one next to it: it replaces its
  // checkpoint before the coordinator has stored that.
  void CheckMissingCheckpoints() {
    const std::string check = "checkpoint";
    std::error_code error;
    if (!fs::is_directory(state_dir_ / "artifacts", error) || !BucketOf(state_dir_).empty()) return;
    std::string last;
    for (const auto& row :
         Ask(check,
             "SELECT stage.id, path, sha256, artifact.step FROM stage "
             "JOIN attempt ON attempt.stage = stage.id JOIN artifact ON artifact.token = attempt.token "
             "WHERE stage.state = 'PENDING' AND stage.result_token IS NULL AND final = 0 "
             "ORDER BY stage.id, artifact.step DESC, artifact.id DESC")) {
      if (std::exchange(last, row[0]) == row[0]) continue;
      const fs::path file = state_dir_ / row[1];
      const std::vector<fs::path> beside = EntriesOf(file.parent_path());
      const auto is_checkpoint = [](const fs::path& entry) { return entry.extension() == ".safetensors"; };
      if (std::ranges::any_of(beside, is_checkpoint) ||
          fs::exists(state_dir_ / "artifacts" / (row[2] + ".safetensors"), error))
        continue;
      Problem(check,
              absl::StrCat(file.string(), ", from which training st-", row[0], " is to continue at step ",
                           row[3], ", is missing"),
              "copy the file back from a worker or a backup; without it the training begins again");
    }
  }

  void CheckLeftovers() {
    report_.checks.push_back(kLeftover);
    for (const fs::path& file : EntriesOf(state_dir_)) {
      if (!IsLeftover(file)) continue;
      Note(kLeftover, absl::StrCat(file.string(), " was left by a program that was killed while it wrote it"),
           "inlier doctor --repair removes it", true);
    }
  }

  void CheckSpace() {
    report_.checks.push_back("disk_space");
    std::error_code error;
    const fs::space_info space = fs::space(state_dir_, error);
    if (error) return;
    report_.free_bytes = space.available;
    const std::uint64_t wanted = std::max(kFreeBytesMin, report_.database_bytes);
    if (space.available >= wanted) return;
    Problem("disk_space",
            absl::StrCat(space.available, " bytes are free; at least ", wanted,
                         " are needed (the size of the database, for a backup)"),
            "free space on the file system of the state folder");
  }

  const fs::path state_dir_;
  const DoctorOptions options_;
  SqliteHandle database_;
  std::uint64_t read_bytes_ = 0, unread_bytes_ = 0;
  DoctorReport report_;
};

bool NeedsRepair(const DoctorReport& report, const std::string& check) {
  return std::ranges::any_of(
      report.findings, [&](const Finding& finding) { return finding.repairable && finding.check == check; });
}

// Runs `sql` in one transaction.
absl::Status Execute(sqlite3* connection, const std::string& sql) {
  const std::string whole = absl::StrCat("BEGIN IMMEDIATE; ", sql, "; COMMIT");
  const int code = sqlite3_exec(connection, whole.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return absl::OkStatus();
  const absl::Status status = SqliteStatus(code, sqlite3_errmsg(connection), "repairing the database");
  sqlite3_exec(connection, "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::Status RepairRows(const fs::path& state_dir, const DoctorReport& report,
                        std::vector<std::string>& done) {
  std::vector<std::pair<std::string, std::string>> repairs;  // SQL and what it does.
  if (NeedsRepair(report, kIntegrity))
    repairs.emplace_back("REINDEX", "rebuilt the indexes from their tables");
  for (const StoreRule& rule : StoreRules()) {
    if (NeedsRepair(report, rule.name))
      repairs.emplace_back(rule.repair_sql, absl::StrCat(rule.name, ": ", rule.meaning, " again"));
  }
  if (repairs.empty()) return absl::OkStatus();
  const fs::path file = state_dir / "inlier.db";
  ASSIGN_OR_RETURN(const SqliteHandle connection, OpenForWriting(file));
  sqlite3* const raw = connection.get();
  sqlite3_exec(raw, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", nullptr, nullptr, nullptr);
  BackupOptions options;
  options.check = false;
  ASSIGN_OR_RETURN(const BackupResult backup,
                   BackupBeside(raw, file, report.schema_version, "before-repair", options));
  done.push_back(absl::StrCat("copied the database to ", backup.file.string()));
  for (const auto& [sql, what] : repairs) {
    RETURN_IF_ERROR(Execute(raw, sql));
    done.push_back(what);
  }
  return absl::OkStatus();
}

}  // namespace

bool DoctorReport::healthy() const {
  return std::ranges::none_of(findings, [](const Finding& finding) { return finding.problem; });
}

absl::StatusOr<DoctorReport> ExamineStateFolder(const fs::path& state_dir, const DoctorOptions& options) {
  std::error_code error;
  if (!fs::exists(state_dir / "inlier.db", error)) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", (state_dir / "inlier.db").string(),
                     "; name the coordinator's state folder with --dir, on the machine where it is"));
  }
  return Examination(state_dir, options).Run();
}

absl::StatusOr<std::vector<std::string>> RepairStateFolder(const fs::path& state_dir,
                                                           const DoctorReport& report) {
  ASSIGN_OR_RETURN(const FileLock lock, LockStateFolder(state_dir));
  std::vector<std::string> done;
  RETURN_IF_ERROR(RepairRows(state_dir, report, done));
  for (const fs::path& file : EntriesOf(state_dir)) {
    std::error_code error;
    // No coordinator runs, so an endpoint file is a leftover.
    if ((!IsLeftover(file) && file.filename() != "endpoint.json") || !fs::remove(file, error)) continue;
    done.push_back(absl::StrCat("removed ", file.string()));
  }
  return done;
}

}  // namespace inlier
