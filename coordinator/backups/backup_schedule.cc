#include "coordinator/backups/backup_schedule.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

WallTime Later(WallTime time, Duration by) {
  return {time.unix_ms + std::chrono::duration_cast<std::chrono::milliseconds>(by).count()};
}

}  // namespace

absl::StatusOr<BackupSchedule::Options> BackupSchedule::OptionsOf(const v1::CoordinatorConfig& config) {
  Options options{.state_dir = config.state_dir(),
                  .folder = config.backup().folder(),
                  .every = std::chrono::hours(config.backup().every_hours()),
                  .keep = config.backup().keep()};
  std::error_code ignored;
  const fs::path state = fs::weakly_canonical(fs::absolute(options.state_dir, ignored), ignored);
  const fs::path folder = fs::weakly_canonical(fs::absolute(options.folder, ignored), ignored);
  const auto differs = std::mismatch(state.begin(), state.end(), folder.begin(), folder.end());
  if (differs.first != state.end()) return options;
  return absl::InvalidArgumentError(absl::StrCat(
      "backup.folder: ", options.folder.string(), " is in state_dir (", options.state_dir.string(),
      "), and what destroys the database would destroy its backups; name a folder outside, best "
      "on another disk"));
}

BackupSchedule::BackupSchedule(Options options, Observe observe)
    : options_(std::move(options)), observe_(std::move(observe)) {}

BackupSchedule::~BackupSchedule() { Stop(); }

void BackupSchedule::Start() {
  thread_ = std::thread([this] { Run(); });
}

void BackupSchedule::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool BackupSchedule::MustStop() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void BackupSchedule::Run() {
  std::vector<ScheduledBackup> known = ScheduledBackups(options_.folder);
  const WallTime now = WallNow();
  // A name from the future is of a clock that was wrong.
  std::erase_if(known, [now](const ScheduledBackup& backup) { return now < backup.at; });
  due_ = now;
  if (!known.empty()) {
    latest_ = std::move(known.back());
    due_ = std::max(Later(latest_->at, options_.every), now);
  }
  ObserveNow(std::nullopt);
  Duration wait = std::chrono::milliseconds(due_.unix_ms - now.unix_ms);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, wait, [this] { return stop_; })) return;
    }
    wait = BackUp();
  }
}

Duration BackupSchedule::BackUp() {
  const absl::StatusOr<RotatedBackup> rotated =
      BackUpAndRotate(options_.state_dir, options_.folder, options_.keep, [this] { return MustStop(); });
  if (absl::IsCancelled(rotated.status())) return options_.every;  // The schedule ends.
  if (rotated.ok()) {
    latest_ = AsScheduledBackup(rotated->made.file);
    due_ = Later(WallNow(), options_.every);
    spdlog::info("backup_made file={} bytes={} seconds={:.1f} removed={}", rotated->made.file.string(),
                 rotated->made.bytes, ToSeconds(rotated->made.duration), rotated->removed);
  } else {
    spdlog::error("backup_failed folder={} reason={}", options_.folder.string(),
                  LogText(rotated.status().message()));
  }
  Note(rotated);
  ObserveNow(rotated.ok());
  return rotated.ok() ? options_.every : std::min(options_.every, kRetry);
}

void BackupSchedule::Note(const absl::StatusOr<RotatedBackup>& rotated) const {
  v1::BackupNote note;
  note.set_folder(options_.folder.string());
  note.set_every_hours(
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::hours>(options_.every).count()));
  note.set_tried_unix_ms(WallNow().unix_ms);
  if (!rotated.ok()) note.set_problem(std::string(rotated.status().message()));
  if (latest_) {
    note.set_latest_unix_ms(latest_->at.unix_ms);
    std::error_code ignored;
    note.set_latest_file(fs::absolute(latest_->file, ignored).string());
  }
  const absl::Status written = WriteBackupNote(options_.state_dir, &note);
  if (!written.ok()) spdlog::warn("backup_note_not_written reason={}", LogText(written.message()));
}

void BackupSchedule::ObserveNow(std::optional<bool> succeeded) const {
  Report report{.succeeded = succeeded, .latest = std::nullopt, .due = due_};
  if (latest_) report.latest = latest_->at;
  observe_(report);
}

}  // namespace inlier
