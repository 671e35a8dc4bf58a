// Backups of the database every few hours, by a thread of their own, while the coordinator works.
//
// The first is due `every` after the latest that the folder has, at once where it has none, so that restarts neither
// skip nor repeat one. A backup that failed is tried again within kRetry; the reason is logged, and is in
// <state_dir>/backups.json for `inlier doctor` until one succeeds.
//
// Thread safety: Start and Stop from one thread; `observe` is called on the schedule's own.
#ifndef INLIER_COORDINATOR_BACKUPS_BACKUP_SCHEDULE_H_
#define INLIER_COORDINATOR_BACKUPS_BACKUP_SCHEDULE_H_

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/backups/backup_folder.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

class BackupSchedule {
 public:
  static constexpr Duration kRetry = std::chrono::minutes(10);

  struct Options {
    std::filesystem::path state_dir;
    std::filesystem::path folder;
    Duration every{0};
    std::size_t keep = 1;
  };
  // After a look at the folder, and after each backup.
  struct Report {
    std::optional<bool> succeeded;   // Absent: none was tried.
    std::optional<WallTime> latest;  // Backup that was made.
    WallTime due;                    // Until then the next one should be made; in the past after failures.
  };
  using Observe = std::function<void(const Report&)>;

  // Of `config.backup`. InvalidArgument, with the remedy, for a folder that is state_dir or lies in it: what destroys the
  // database would destroy its backups.
  static absl::StatusOr<Options> OptionsOf(const v1::CoordinatorConfig& config);

  BackupSchedule(Options options, Observe observe);
  // Stops.
  ~BackupSchedule();
  BackupSchedule(const BackupSchedule&) = delete;
  BackupSchedule& operator=(const BackupSchedule&) = delete;

  void Start();
  // Ends the backup that is under way; its part is removed. May be repeated.
  void Stop();

 private:
  void Run();
  // The time to the next try.
  Duration BackUp();
  void Note(const absl::StatusOr<RotatedBackup>& rotated) const;
  void ObserveNow(std::optional<bool> succeeded) const;
  bool MustStop();

  const Options options_;
  const Observe observe_;
  std::optional<ScheduledBackup> latest_;
  WallTime due_;  // Moves with successes only.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_BACKUPS_BACKUP_SCHEDULE_H_
