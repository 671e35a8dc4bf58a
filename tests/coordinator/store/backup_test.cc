// Backups while the store is written and of a stopped one; a backup never leaves a part, an overwritten file
// or a copy of a damaged database.
#include "coordinator/store/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "coordinator/store/committer.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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
    const auto database = Database::Open(folder.path());
    if (!database.ok()) return {database.status().ToString()};
    const auto connection = GuardedConnection::Open((*database)->path());
    if (!connection.ok()) return {connection.status().ToString()};
    const auto response = (*connection)->Query(sql);
    return response.ok() ? RowTexts(*response) : std::vector<std::string>{response.status().ToString()};
  }
  TemporaryFolder target_;
};

TEST_F(BackupTest, BackupOfAnOpenDatabaseHoldsCommitsThatAreOnlyInTheLog) {
  MustAddTrial();
  MustTrain();
  ASSERT_GT(database_->WalBytes(), 0u);
  const auto made = BackupStateFolder(folder_.path(), target_.path() / "copy.db");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->schema_version, database_->version());
  EXPECT_EQ(made->bytes, std::filesystem::file_size(target_.path() / "copy.db"));
  EXPECT_THAT(Names(target_.path()), ElementsAre("copy.db"));
  EXPECT_THAT(Ask(made->file, "SELECT state, result_token FROM stage"),
              ElementsAre("SUCCEEDED|1", "PENDING|NULL"));
  MustApply(Start(2, 2));  // The database changes meanwhile.
}

TEST_F(BackupTest, BackupsWhileTheCommitterWritesAreEachOfOneMoment) {
  MustAddTrial();
  MustApply(Start(1, 1));
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
    const auto made = BackupStateFolder(folder_.path(), target_.path() / std::to_string(i));
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_THAT(Ask(made->file, "SELECT count(*) % 2, count(*) >= 100 FROM measurement"), ElementsAre("0|1"));
  }
  stop = true;
  writer.join();
}

TEST_F(BackupTest, BackupOfAStoppedDatabaseWithALogLeftByAKillHoldsTheLog) {
  MustAddTrial();
  const TemporaryFolder killed;
  for (const char* name : {"inlier.db", "inlier.db-wal"})
    std::filesystem::copy_file(folder_.path() / name, killed.path() / name);
  const auto made = BackupStateFolder(killed.path(), target_.path());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->file.filename().string(),
              StartsWith("inlier.db.v" + std::to_string(database_->version()) + "."));
  EXPECT_THAT(Ask(made->file, "SELECT trial FROM trials"), ElementsAre("t-1"));
}

TEST_F(BackupTest, FileThatExistsIsNeverOverwritten) {
  std::ofstream(target_.path() / "copy.db") << "precious";
  const absl::Status status = BackupStateFolder(folder_.path(), target_.path() / "copy.db").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("copy.db exists, and no backup is overwritten"));
  std::ifstream in(target_.path() / "copy.db");
  std::string text;
  in >> text;
  EXPECT_EQ(text, "precious");
  EXPECT_THAT(Names(target_.path()), ElementsAre("copy.db"));
}

TEST_F(BackupTest, DamagedDatabaseMakesNoBackup) {
  MustAddTrial();
  Close();
  ASSERT_TRUE(Database::Open(folder_.path()).ok());  // Moves the log into the file.
  const std::filesystem::path file = folder_.path() / "inlier.db";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string garbage(200, '\xa5');
  // The header of the second page and of some more.
  for (int page = 1; page < 12; ++page)
    ASSERT_EQ(::pwrite(fd, garbage.data(), garbage.size(), page * 4096),
              static_cast<ssize_t>(garbage.size()));
  ::close(fd);
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
  const absl::Status status = BackupStateFolder(folder_.path(), target_.path() / "no" / "x").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr((target_.path() / "no").string()));
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

}  // namespace
}  // namespace inlier
