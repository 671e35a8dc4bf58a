// A rotation keeps the latest backups and everything that is not its own, and removes nothing where no new backup was
// made.
#include "coordinator/backups/backup_folder.h"

#include <fstream>

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class BackupFolderTest : public StoreTest {
 protected:
  BackupFolderTest() { MustAddTrial(); }

  absl::StatusOr<RotatedBackup> Rotate(std::size_t keep) {
    return BackUpAndRotate(folder_.path(), target_.path(), keep, nullptr);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(target_.path()))
      names.push_back(entry.path().filename());
    return names;
  }

  TemporaryFolder target_;
};

TEST_F(BackupFolderTest, NamesOfASchedulesBackupsAreReadAndNoOthers) {
  const std::filesystem::path file =
      AutomaticBackupPath("/b/inlier.db", 12, {1'790'000'000'123}, "scheduled");
  const auto backup = AsScheduledBackup(file);
  ASSERT_TRUE(backup.has_value()) << file;
  EXPECT_EQ(backup->at.unix_ms, 1'790'000'000'123);
  for (const char* other :
       {"/b/inlier.db.v1.20261122T021623.123Z.backup", "/b/inlier.db.v1.20261122T021623.123Z.scheduled.old",
        "/b/inlier.db.v1.20261122T021623.123Z.scheduled.AbCdEf.part",
        "/b/inlier.db.v1.20261340T021623.123Z.scheduled", "/b/inlier.db.v1.2026.scheduled", "/b/inlier.db"})
    EXPECT_FALSE(AsScheduledBackup(other).has_value()) << other;
}

TEST_F(BackupFolderTest, TheLatestStayByTheirTimeAndFilesOfOthersToo) {
  // By name the second is after the third: its schema version is 9.
  target_.Write("inlier.db.v10.20240103T000000.000Z.scheduled", "third");
  target_.Write("inlier.db.v9.20240102T000000.000Z.scheduled", "second");
  target_.Write("inlier.db.v9.20240101T000000.000Z.scheduled", "first");
  target_.Write("inlier.db.v9.20230101T000000.000Z.backup", "a person's");
  target_.Write("notes.txt", "a person's");
  target_.Write("inlier.db.v9.20240101T000000.000Z.scheduled.AbCdEf.part", "left by a kill");
  const auto rotated = Rotate(2);
  ASSERT_TRUE(rotated.ok()) << rotated.status();
  EXPECT_EQ(rotated->removed, 2u);
  EXPECT_EQ(rotated->made.schema_version, database_->version());
  EXPECT_THAT(Names(), UnorderedElementsAre(rotated->made.file.filename().string(),
                                            "inlier.db.v10.20240103T000000.000Z.scheduled",
                                            "inlier.db.v9.20230101T000000.000Z.backup", "notes.txt"));
  const auto all = ScheduledBackups(target_.path());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.back().file, rotated->made.file);  // Oldest first.
}

TEST_F(BackupFolderTest, TheNewOneStaysBeforeOneFromTheFuture) {
  target_.Write("inlier.db.v1.29990101T000000.000Z.scheduled", "made while the clock was wrong");
  const auto rotated = Rotate(1);
  ASSERT_TRUE(rotated.ok()) << rotated.status();
  EXPECT_THAT(Names(), ElementsAre(rotated->made.file.filename().string()));
}

TEST_F(BackupFolderTest, OneFromTheFutureTakesNoPlaceOfAnEarlierOne) {
  target_.Write("inlier.db.v1.29990101T000000.000Z.scheduled", "made while the clock was wrong");
  target_.Write("inlier.db.v1.20240101T000000.000Z.scheduled", "earlier");
  const auto rotated = Rotate(2);
  ASSERT_TRUE(rotated.ok()) << rotated.status();
  EXPECT_THAT(Names(), UnorderedElementsAre(rotated->made.file.filename().string(),
                                            "inlier.db.v1.20240101T000000.000Z.scheduled"));
}

TEST_F(BackupFolderTest, WithoutANewBackupNoneIsRemoved) {
  target_.Write("inlier.db.v1.20240101T000000.000Z.scheduled", "first");
  target_.Write("inlier.db.v1.20240102T000000.000Z.scheduled", "second");
  Close();
  ASSERT_TRUE(Database::Open(folder_.path()).ok());  // Moves the log into the file.
  // Damaged pages are copied, and found by the check of the copy.
  std::fstream file(folder_.path() / "inlier.db", std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 1; page < 12; ++page) {
    file.seekp(page * 4096);
    file << std::string(200, '\xa5');
  }
  file.close();
  const auto rotated = Rotate(1);
  EXPECT_EQ(rotated.status().code(), absl::StatusCode::kDataLoss) << rotated.status();
  EXPECT_EQ(ScheduledBackups(target_.path()).size(), 2u);
  EXPECT_EQ(Names().size(), 2u);  // No part either.
}

TEST_F(BackupFolderTest, FolderThatIsNotThereIsNamedAndNotMade) {
  const std::filesystem::path missing = target_.path() / "disk";
  const auto rotated = BackUpAndRotate(folder_.path(), missing, 3, nullptr);
  EXPECT_EQ(rotated.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(rotated.status().message()), HasSubstr("backup.folder " + missing.string()));
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(BackupFolderTest, AStoppedBackupLeavesNothing) {
  const auto rotated = BackUpAndRotate(folder_.path(), target_.path(), 3, [] { return true; });
  EXPECT_EQ(rotated.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Names(), IsEmpty());
}

}  // namespace
}  // namespace inlier
