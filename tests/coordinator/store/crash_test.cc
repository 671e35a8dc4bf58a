// States after a crash: the files are copied while the coordinator runs, as a kill would leave them, and the
// copy is opened.
#include <fstream>

#include "coordinator/store/committer.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;

class CrashTest : public StoreTest {
 protected:
  // The files of the state folder as they are now, in a folder of their own.
  void CopyTo(const TemporaryFolder& copy) {
    for (const char* name : {"inlier.db", "inlier.db-wal"}) {
      if (std::filesystem::exists(folder_.path() / name))
        std::filesystem::copy_file(folder_.path() / name, copy.path() / name);
    }
  }
};

TEST_F(CrashTest, AcknowledgedBatchesSurviveWithTheLogNotMoved) {
  MustTrain();
  const TemporaryFolder copy;
  CopyTo(copy);
  EXPECT_THAT(RowsIn(copy.path(), "SELECT state, result_token FROM stage"),
              ElementsAre("SUCCEEDED|1", "PENDING|NULL"));
}

TEST_F(CrashTest, CopiesTakenBetweenCommitsHoldAllThatWasAcknowledgedByThen) {
  MustStart();
  Committer committer(*store_, {}, nullptr);
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t i = 1; i <= 40; ++i) {
      ChangeBatch batch{.lane = Lane::kBulk, .changes = {}};
      batch.Add(Point(1, "train_loss", static_cast<std::uint64_t>(round) * 40 + i, 1.0));
      committer.Submit(std::move(batch), nullptr);
    }
    committer.Flush();
    const TemporaryFolder copy;
    CopyTo(copy);
    EXPECT_THAT(RowsIn(copy.path(), "SELECT count(*), max(step) FROM measurement"),
                ElementsAre(std::to_string(40 * (round + 1)) + "|" + std::to_string(40 * (round + 1))));
  }
}

// A power cut may tear the end of the log at any byte: everything up to the last complete transaction
// remains, and no transaction is half there.
TEST_F(CrashTest, TornLogLosesOnlyWholeTransactions) {
  MustStart();
  ASSERT_TRUE(database_->CheckpointWal(/*truncate=*/true).ok());
  std::vector<std::uintmax_t> ends = {0};
  for (std::uint64_t i = 1; i <= 6; ++i) {
    MustApply(Point(1, "train_loss", 2 * i - 1, 1.0), Point(1, "train_loss", 2 * i, 1.0));
    ends.push_back(std::filesystem::file_size(folder_.path() / "inlier.db-wal"));
  }
  for (std::uintmax_t cut = 0; cut <= ends.back(); cut += 1337) {
    const TemporaryFolder copy;
    CopyTo(copy);
    std::filesystem::resize_file(copy.path() / "inlier.db-wal", cut);
    int whole = 0;
    while (whole + 1 < static_cast<int>(ends.size()) && ends[whole + 1] <= cut) ++whole;
    EXPECT_THAT(RowsIn(copy.path(), "SELECT count(*) FROM measurement"),
                ElementsAre(std::to_string(2 * whole)))
        << "cut at " << cut;
  }
}

TEST_F(CrashTest, GarbageAtTheEndOfTheLogIsIgnored) {
  MustAddTrial();
  const TemporaryFolder copy;
  CopyTo(copy);
  std::ofstream(copy.path() / "inlier.db-wal", std::ios::app | std::ios::binary)
      << std::string(10000, '\0') << "garbage";
  EXPECT_THAT(RowsIn(copy.path(), "SELECT trial FROM trials"), ElementsAre("t-1"));
}

TEST_F(CrashTest, LoadAfterACrashGivesBackTheLiveAttempt) {
  MustAddTrial();
  MustApply(Start(7, 1));
  const TemporaryFolder copy;
  CopyTo(copy);
  const auto database = Database::Open(copy.path()).value();
  const auto snapshot = Store(*database).Load();
  ASSERT_EQ(snapshot->live_attempts.size(), 1u);
  EXPECT_EQ(snapshot->live_attempts[0].token, 7u);
  EXPECT_EQ(snapshot->next_token, 8u);
}

}  // namespace
}  // namespace inlier
