// The schedule on a real database: it makes backups in time, continues after a failure, shows both, and ends at once.
#include "coordinator/backups/backup_schedule.h"

#include <future>

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(30);

class BackupScheduleTest : public StoreTest {
 protected:
  BackupScheduleTest() { MustAddTrial(); }

  BackupSchedule::Options Options(Duration every, std::size_t keep = 3) const {
    return {.state_dir = folder_.path(), .folder = target_.path() / "disk", .every = every, .keep = keep};
  }
  void MakeFolder() { std::filesystem::create_directory(target_.path() / "disk"); }
  std::vector<ScheduledBackup> Made() const { return ScheduledBackups(target_.path() / "disk"); }

  // Runs a schedule until a report is as wanted; that report.
  BackupSchedule::Report RunUntil(BackupSchedule::Options options,
                                  const std::function<bool(const BackupSchedule::Report&)>& wanted) {
    std::promise<BackupSchedule::Report> found;
    bool set = false;  // On the schedule's thread alone.
    BackupSchedule schedule(std::move(options), [&](const BackupSchedule::Report& report) {
      if (!set && wanted(report)) {
        set = true;
        found.set_value(report);
      }
    });
    schedule.Start();
    auto future = found.get_future();
    if (future.wait_for(kPatience) != std::future_status::ready) {
      ADD_FAILURE() << "no such report";
      return {};
    }
    schedule.Stop();
    return future.get();
  }

  TemporaryFolder target_;
};

TEST_F(BackupScheduleTest, TheFirstIsMadeAtOnceAndTheNextIsDueAfterTheInterval) {
  MakeFolder();
  const WallTime before = WallNow();
  const auto report = RunUntil(Options(hours(24)), [](const auto& r) { return r.succeeded.has_value(); });
  EXPECT_EQ(report.succeeded, true);
  ASSERT_EQ(Made().size(), 1u);
  EXPECT_EQ(report.latest, Made()[0].at);
  EXPECT_GE(report.due.unix_ms, before.unix_ms + 24 * 3'600'000);
  const auto note = ReadBackupNote(folder_.path());
  ASSERT_TRUE(note.ok()) << note.status();
  EXPECT_FALSE(note->has_problem());
  EXPECT_EQ(note->latest_file(), Made()[0].file.string());
  EXPECT_EQ(note->every_hours(), 24u);
}

TEST_F(BackupScheduleTest, ARestartDoesNotRepeatABackupThatIsNotDue) {
  MakeFolder();
  RunUntil(Options(hours(24)), [](const auto& r) { return r.succeeded.has_value(); });
  const WallTime made = Made().at(0).at;
  const auto report = RunUntil(Options(hours(24)), [](const auto&) { return true; });
  EXPECT_EQ(report.succeeded, std::nullopt);
  EXPECT_EQ(report.latest, made);
  EXPECT_EQ(report.due.unix_ms, made.unix_ms + 24 * 3'600'000);
  EXPECT_EQ(Made().size(), 1u);
}

TEST_F(BackupScheduleTest, ANameFromTheFutureDelaysNoBackup) {
  MakeFolder();
  std::ofstream(target_.path() / "disk" / "inlier.db.v1.29990101T000000.000Z.scheduled") << "clock was wrong";
  const auto report = RunUntil(Options(hours(1)), [](const auto&) { return true; });
  EXPECT_LE(report.due.unix_ms, WallNow().unix_ms);
  EXPECT_EQ(report.latest, std::nullopt);
}

TEST_F(BackupScheduleTest, AFailureIsShownAndTriedAgainUntilItSucceeds) {
  const auto failed = RunUntil(Options(milliseconds(20)), [](const auto& r) { return r.succeeded == false; });
  EXPECT_FALSE(failed.latest.has_value());
  EXPECT_LE(failed.due, WallNow());  // It stays due.
  auto note = ReadBackupNote(folder_.path());
  ASSERT_TRUE(note.ok()) << note.status();
  EXPECT_THAT(note->problem(), HasSubstr("mount its disk"));
  EXPECT_FALSE(note->has_latest_unix_ms());

  int failures = 0;
  RunUntil(Options(milliseconds(20)), [&](const BackupSchedule::Report& report) {
    if (report.succeeded == false && ++failures == 2) MakeFolder();
    return report.succeeded == true;
  });
  EXPECT_EQ(failures, 2);
  note = ReadBackupNote(folder_.path());
  ASSERT_TRUE(note.ok()) << note.status();
  EXPECT_FALSE(note->has_problem());
}

TEST_F(BackupScheduleTest, ManyBackupsLeaveAsManyAsAreKept) {
  MakeFolder();
  int made = 0;
  RunUntil(Options(milliseconds(5), 2), [&](const auto& r) { return r.succeeded == true && ++made == 5; });
  EXPECT_EQ(Made().size(), 2u);
}

TEST_F(BackupScheduleTest, AFolderInTheStateFolderIsRefused) {
  v1::CoordinatorConfig config;
  config.set_state_dir(folder_.path().string());
  for (const char* name : {"", "/backups", "/../", "/a/../backups"}) {
    config.mutable_backup()->set_folder(folder_.path().string() + name);
    const absl::Status status = BackupSchedule::OptionsOf(config).status();
    if (std::string(name) == "/../") {
      EXPECT_TRUE(status.ok()) << status;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("backup.folder: "));
  }
  config.mutable_backup()->set_folder(folder_.path().string() + "-backups");
  const auto options = BackupSchedule::OptionsOf(config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->every, hours(24));
  EXPECT_EQ(options->keep, 14u);
}

}  // namespace
}  // namespace inlier
