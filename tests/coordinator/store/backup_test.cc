// Backups while the store is written and of a stopped one; a backup never leaves a part, an overwritten file
// or a copy of a damaged database.
#include "coordinator/store/backup.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "coordinator/store/committer.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> Names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  return names;
}

class BackupTest : public StoreTest {
 protected:
  // The rows of a backup, opened as a state folder of its own.
  static std::vector<std::string> Ask(const std::filesystem::path& backup, const std::string& sql) {
    const TemporaryFolder folder;
    std::filesystem::copy_file(backup, folder.path() / "inlier.db");
    return RowsIn(folder.path(), sql);
  }
  TemporaryFolder target_;
};

TEST_F(BackupTest, BackupOfAnOpenDatabaseHoldsCommitsThatAreOnlyInTheLog) {
  MustTrain();
  ASSERT_GT(database_->WalBytes(), 0u);
  const auto made = BackupStateFolder(folder_.path(), target_.path() / "copy.db").value();
  EXPECT_EQ(made.schema_version, database_->version());
  EXPECT_EQ(made.bytes, std::filesystem::file_size(target_.path() / "copy.db"));
  EXPECT_THAT(Names(target_.path()), ElementsAre("copy.db"));
  EXPECT_THAT(Ask(made.file, "SELECT state, result_token FROM stage"),
              ElementsAre("SUCCEEDED|1", "PENDING|NULL"));
  MustApply(Start(2, 2));  // The database changes meanwhile.
}

TEST_F(BackupTest, BackupsWhileTheCommitterWritesAreEachOfOneMoment) {
  MustStart();
  Committer committer(*store_, {}, nullptr);
  std::atomic<bool> stop = false;
  // Each transaction adds two points of one step: a copy of one moment has an even number of them.
  std::thread writer([&] {
    for (std::uint64_t step = 1; !stop; ++step) {
      ChangeBatch batch{.lane = Lane::kBulk, .changes = {}};
      batch.Add(Point(1, "train_loss", step, 1.0));
      batch.Add(Point(1, "learning_rate", step, 1.0));
      committer.Submit(std::move(batch), nullptr);
      if (step % 50 == 0) committer.Flush();
    }
  });
  const auto committed = [&] { return committer.Health().committed_rows; };
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = committed();
    while (committed() < before + 100) std::this_thread::yield();
    const auto made = BackupStateFolder(folder_.path(), target_.path() / std::to_string(i)).value();
    EXPECT_THAT(Ask(made.file, "SELECT count(*) % 2, count(*) >= 100 FROM measurement"), ElementsAre("0|1"));
  }
  stop = true;
  writer.join();
}

TEST_F(BackupTest, BackupOfAStoppedDatabaseWithALogLeftByAKillHoldsTheLog) {
  MustAddTrial();
  const TemporaryFolder killed;
  for (const char* name : {"inlier.db", "inlier.db-wal"})
    std::filesystem::copy_file(folder_.path() / name, killed.path() / name);
  const auto made = BackupStateFolder(killed.path(), target_.path()).value();
  EXPECT_THAT(made.file.filename().string(),
              StartsWith("inlier.db.v" + std::to_string(database_->version()) + "."));
  EXPECT_THAT(Ask(made.file, "SELECT trial FROM trials"), ElementsAre("t-1"));
}

TEST_F(BackupTest, FileThatExistsIsNeverOverwritten) {
  std::ofstream(target_.path() / "copy.db") << "precious";
  EXPECT_THAT(
      BackupStateFolder(folder_.path(), target_.path() / "copy.db"),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("copy.db exists, and no backup is overwritten")));
  std::ifstream in(target_.path() / "copy.db");
  std::string text;
  in >> text;
  EXPECT_EQ(text, "precious");
  EXPECT_THAT(Names(target_.path()), ElementsAre("copy.db"));
}

TEST_F(BackupTest, DamagedDatabaseMakesNoBackup) {
  MustAddTrial();
  DamageDatabase();
  const absl::Status status = BackupStateFolder(folder_.path(), target_.path() / "copy.db").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(Names(target_.path()), IsEmpty());
}

TEST_F(BackupTest, FolderWithoutADatabaseIsNotFound) {
  const TemporaryFolder empty;
  EXPECT_EQ(BackupStateFolder(empty.path(), target_.path() / "x").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(Names(empty.path()), IsEmpty());
}

TEST_F(BackupTest, FolderOfTheBackupThatIsMissingIsNamed) {
  EXPECT_THAT(BackupStateFolder(folder_.path(), target_.path() / "no" / "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr((target_.path() / "no").string())));
}

TEST_F(BackupTest, ProgressReachesTheEnd) {
  MustAddTrial();
  std::uint64_t done = 0, total = 1;
  BackupOptions options;
  int calls = 0;
  options.progress = [&](std::uint64_t d, std::uint64_t t) {
    ++calls;
    EXPECT_LE(d, t);
    done = d;
    total = t;
  };
  ASSERT_TRUE(BackupStateFolder(folder_.path(), target_.path() / "x", options).ok());
  EXPECT_GT(calls, 0);
  EXPECT_EQ(done, total);
}

class KeptBackupTest : public BackupTest {
 protected:
  KeptBackupTest() { MustAddTrial(); }

  absl::StatusOr<BackupResult> Keep(std::size_t keep) {
    BackupOptions options;
    options.keep = keep;
    return BackupStateFolder(folder_.path(), target_.path(), options);
  }
};

TEST_F(KeptBackupTest, TheNewestStayByTheirTimeAndEveryOtherFileToo) {
  // By name the second is after the third: its schema version is 9.
  target_.Write("inlier.db.v10.20240103T000000.000Z.scheduled", "third");
  target_.Write("inlier.db.v9.20240102T000000.000Z.scheduled", "second");
  target_.Write("inlier.db.v9.20240101T000000.000Z.scheduled", "first");
  const std::vector<std::string> others = {"inlier.db",
                                           "notes.txt",
                                           "inlier.db.v9.20230101T000000.000Z.backup",
                                           "inlier.db.v9.20230101T000000.000Z.scheduled.old",
                                           "inlier.db.v9.20230101T000000.000Z.scheduled.AbCdEf.part",
                                           "inlier.db.v9.2023.scheduled",
                                           "old.inlier.db.v9.20230101T000000.000Z.scheduled"};
  for (const std::string& other : others) target_.Write(other, "is not of --keep");
  const std::string folder = "inlier.db.v9.20230102T000000.000Z.scheduled";
  std::filesystem::create_directory(target_.path() / folder);
  const auto made = Keep(2).value();
  EXPECT_EQ(made.removed, 2u);
  std::vector<std::string> left = others;
  left.insert(left.end(),
              {folder, "inlier.db.v10.20240103T000000.000Z.scheduled", made.file.filename().string()});
  EXPECT_THAT(Names(target_.path()), UnorderedElementsAreArray(left));
  EXPECT_THAT(Ask(made.file, "SELECT count(*) FROM trial"), ElementsAre("1"));
}

TEST_F(KeptBackupTest, ManyBackupsLeaveAsManyAsAreKept) {
  std::filesystem::path latest;
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // A name has milliseconds.
    const auto made = Keep(2).value();
    EXPECT_EQ(made.removed, i < 2 ? 0u : 1u);
    latest = made.file;
  }
  EXPECT_THAT(Names(target_.path()), AllOf(SizeIs(2), Contains(latest.filename().string())));
}

TEST_F(KeptBackupTest, OneFromTheFutureGoesFirst) {
  target_.Write("inlier.db.v1.29990101T000000.000Z.scheduled", "made while the clock was wrong");
  target_.Write("inlier.db.v1.20240101T000000.000Z.scheduled", "earlier");
  const auto made = Keep(2).value();
  EXPECT_THAT(Names(target_.path()), UnorderedElementsAre(made.file.filename().string(),
                                                          "inlier.db.v1.20240101T000000.000Z.scheduled"));
}

TEST_F(KeptBackupTest, WithoutANewBackupNoneIsRemoved) {
  target_.Write("inlier.db.v1.20240101T000000.000Z.scheduled", "first");
  target_.Write("inlier.db.v1.20240102T000000.000Z.scheduled", "second");
  DamageDatabase();
  EXPECT_EQ(Keep(1).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Names(target_.path()), SizeIs(2));  // No part either.
}

TEST_F(KeptBackupTest, AFolderThatIsNotThereIsNamedAndNotMade) {
  BackupOptions options;
  options.keep = 3;
  const std::filesystem::path missing = target_.path() / "disk";
  EXPECT_THAT(BackupStateFolder(folder_.path(), missing, options),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr(missing.string() + " is not a folder"),
                                                          HasSubstr("; mount its disk"))));
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(KeptBackupTest, AFolderInTheStateFolderIsRefused) {
  BackupOptions options;
  options.keep = 3;
  std::filesystem::create_directory(folder_.path() / "backups");
  for (const char* name : {"", "/", "/backups", "/backups/..", "/backups/."}) {
    EXPECT_THAT(BackupStateFolder(folder_.path(), folder_.path().string() + name, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name a folder outside")))
        << name;
  }
  const std::filesystem::path beside = folder_.path().string() + "-backups";  // Begins with its name.
  std::filesystem::create_directory(beside);
  EXPECT_TRUE(BackupStateFolder(folder_.path(), beside, options).ok());
  std::filesystem::remove_all(beside);
}

}  // namespace
}  // namespace inlier
