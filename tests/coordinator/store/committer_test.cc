// The committer acknowledges after the commit, recovers from a full disk, ends at a failed fsync, and commits
// each batch exactly once.
#include "coordinator/store/committer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/store/fault_vfs.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The answers to submitted batches, by number; Wait blocks until one has come.
class Answers {
 public:
  Committer::Done For(int number) {
    return [this, number](absl::Status status) {
      const std::lock_guard lock(mutex_);
      answers_.emplace_back(number, std::move(status));
      came_.notify_all();
    };
  }
  absl::Status Wait(int number) {
    std::unique_lock lock(mutex_);
    const auto find = [&] {
      return std::find_if(answers_.begin(), answers_.end(),
                          [&](const auto& answer) { return answer.first == number; });
    };
    came_.wait(lock, [&] { return find() != answers_.end(); });
    return find()->second;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return answers_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::pair<int, absl::Status>> answers_;
};

class CommitterTest : public StoreTest {
 protected:
  // The database is opened again, on the disk that can fail.
  CommitterTest() { Reopen(); }
  ~CommitterTest() override {
    committer_.reset();
    Close();
  }

  void StartCommitter(CommitterOptions options = {}) {
    options.full_backoff.first = options.full_backoff.longest = std::chrono::milliseconds(1);
    committer_ = std::make_unique<Committer>(
        *store_, options, [this](absl::Status status) { fatal_.For(0)(std::move(status)); });
  }

  template <typename... Changes>
  static ChangeBatch Batch(Lane lane, Changes... changes) {
    ChangeBatch batch{.lane = lane, .changes = {}};
    (batch.Add(std::move(changes)), ...);
    return batch;
  }
  // Waits, without sleeping for a guessed time, until `condition` holds of the health.
  CommitterHealth WaitForHealth(const std::function<bool(const CommitterHealth&)>& condition) {
    CommitterHealth health;
    while (!condition(health = committer_->Health())) std::this_thread::yield();
    return health;
  }

  FaultVfs vfs_;
  Answers answers_;
  Answers fatal_;
  std::unique_ptr<Committer> committer_;
};

TEST_F(CommitterTest, DoneIsCalledAfterTheRowsAreThere) {
  StartCommitter();
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), answers_.For(1));
  EXPECT_TRUE(answers_.Wait(1).ok());
  EXPECT_THAT(Rows("SELECT sweep FROM sweeps"), ElementsAre("gamma"));
  committer_->Flush();
  const CommitterHealth health = committer_->Health();
  EXPECT_TRUE(health.status.ok());
  EXPECT_EQ(health.commits, 1u);
  EXPECT_EQ(health.committed_rows, 1u);
  EXPECT_EQ(health.queued_batches, 0u);
  EXPECT_GT(health.wal_bytes, 0u);
}

TEST_F(CommitterTest, AllThatWasSubmittedIsCommittedWhenItEnds) {
  StartCommitter();
  for (int i = 1; i <= 200; ++i) committer_->Submit(Batch(Lane::kControl, Sweep(i)), answers_.For(i));
  committer_.reset();
  EXPECT_EQ(answers_.count(), 200u);
  EXPECT_THAT(Rows("SELECT count(*) FROM sweeps"), ElementsAre("200"));
}

TEST_F(CommitterTest, ManyBatchesShareATransaction) {
  MustStart();
  std::vector<std::uint64_t> groups;
  CommitterOptions options;
  options.on_commit = [&](const CommitStats& stats) { groups.push_back(stats.batches); };
  StartCommitter(options);
  for (std::uint64_t i = 1; i <= 1000; ++i)
    committer_->Submit(Batch(Lane::kBulk, Point(1, "train_loss", i, 1)), answers_.For(0));
  committer_->Flush();
  EXPECT_THAT(Rows("SELECT count(*), min(step), max(step) FROM measurement"), ElementsAre("1000|1|1000"));
  // In the order submitted.
  EXPECT_THAT(Rows("SELECT count(*) FROM measurement WHERE step <> id"), ElementsAre("0"));
  EXPECT_LT(groups.size(), 500u);
}

TEST_F(CommitterTest, BrokenBatchFailsAloneWithItsReason) {
  MustStart();
  vfs_.SetFull(true);  // Hold the writer, so that the three go into one transaction.
  StartCommitter();
  committer_->Submit(Batch(Lane::kControl, Sweep(5)), answers_.For(5));
  WaitForHealth([](const CommitterHealth& health) { return !health.status.ok(); });
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), answers_.For(2));
  committer_->Submit(Batch(Lane::kControl, Start(2, 1, 2)), answers_.For(3));
  committer_->Submit(Batch(Lane::kControl, Sweep(4)), answers_.For(4));
  vfs_.SetFull(false);
  committer_->Flush();
  EXPECT_TRUE(answers_.Wait(2).ok());
  EXPECT_THAT(answers_.Wait(3), StatusIs(absl::StatusCode::kInternal, HasSubstr("UNIQUE constraint failed")));
  EXPECT_TRUE(answers_.Wait(4).ok());
  EXPECT_THAT(Rows("SELECT sweep_id FROM sweeps ORDER BY 1"), ElementsAre("s-1", "s-2", "s-4", "s-5"));
}

TEST_F(CommitterTest, FullDiskAcknowledgesNothingAndRecoversByItself) {
  std::vector<std::string> waits;  // On the writer's thread, before the answers.
  CommitterOptions options;
  options.on_wait = [&](const absl::Status& status) {
    const absl::StatusOr<Snapshot> stored = store_->Load();
    waits.push_back(stored.ok() ? absl::StrCat(status.ok() ? "stores, " : "waits, ", stored->sweeps.size())
                                : "?");
  };
  StartCommitter(options);
  vfs_.SetFull(true);
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), answers_.For(1));
  const CommitterHealth health =
      WaitForHealth([](const CommitterHealth& health) { return !health.status.ok(); });
  EXPECT_THAT(
      health.status,
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("database or disk is full; free space on the file system of the state folder")));
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), answers_.For(2));
  EXPECT_EQ(answers_.count(), 0u);
  EXPECT_EQ(committer_->Health().queued_rows, 2u);
  EXPECT_THAT(Rows("SELECT * FROM sweeps"), IsEmpty());
  vfs_.SetFull(false);
  EXPECT_TRUE(answers_.Wait(1).ok());
  EXPECT_TRUE(answers_.Wait(2).ok());
  EXPECT_TRUE(committer_->Health().status.ok());
  EXPECT_THAT(Rows("SELECT sweep_id FROM sweeps ORDER BY 1"), ElementsAre("s-1", "s-2"));
  EXPECT_EQ(fatal_.count(), 0u);
  EXPECT_THAT(waits, ElementsAre("waits, 0", "stores, 1"));
}

// Else what it acknowledges would be in a file that no one opens again.
TEST_F(CommitterTest, ADatabaseThatIsMovedAwayAcknowledgesNothingAndIsFatal) {
  StartCommitter();
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), answers_.For(1));
  EXPECT_TRUE(answers_.Wait(1).ok());
  std::filesystem::rename(database_->path(), folder_ / "moved.db");
  std::filesystem::copy_file(folder_ / "moved.db", database_->path());
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), answers_.For(2));
  EXPECT_TRUE(absl::IsDataLoss(answers_.Wait(2)));
  EXPECT_THAT(std::string(fatal_.Wait(0).message()), HasSubstr("inlier.db was moved, removed or replaced"));
}

// At once, and not at the next change, which a caller would have to make first.
TEST_F(CommitterTest, ALogThatIsRemovedIsFatalForAnIdleWriterAndNothingIsLost) {
  StartCommitter();
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), answers_.For(1));
  EXPECT_TRUE(answers_.Wait(1).ok());
  std::filesystem::remove(database_->path().string() + "-wal");
  const std::string message(fatal_.Wait(0).message());
  EXPECT_THAT(message, HasSubstr("inlier.db-wal was moved, removed or replaced"));
  const std::size_t at = message.find("is in ") + 6;
  const std::string rescued = message.substr(at, message.find(';') - at);
  EXPECT_EQ(SQLite::Database(rescued).execAndGet("SELECT count(*) FROM sweep").getInt(), 1);
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), answers_.For(2));
  EXPECT_FALSE(answers_.Wait(2).ok());
}

TEST_F(CommitterTest, AQuotaIsWaitedForAsAFullDiskIs) {
  CommitterOptions options;
  options.idle_checkpoint = std::chrono::milliseconds(1);
  StartCommitter(options);
  // Also where it is a checkpoint that finds no room.
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), [this](absl::Status status) {
    vfs_.SetOverQuota(true);
    answers_.For(1)(std::move(status));
  });
  EXPECT_TRUE(answers_.Wait(1).ok());
  while (vfs_.refused() == 0) std::this_thread::yield();
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), answers_.For(2));
  const CommitterHealth health =
      WaitForHealth([](const CommitterHealth& health) { return !health.status.ok(); });
  EXPECT_THAT(health.status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("or raise its quota")));
  EXPECT_EQ(answers_.count(), 1u);
  EXPECT_EQ(fatal_.count(), 0u);
  vfs_.SetOverQuota(false);
  EXPECT_TRUE(answers_.Wait(2).ok());
  EXPECT_THAT(Rows("SELECT sweep_id FROM sweeps ORDER BY 1"), ElementsAre("s-1", "s-2"));
  EXPECT_EQ(fatal_.count(), 0u);
}

TEST_F(CommitterTest, EndOnAFullDiskAnswersWithErrorsAndStoresNothing) {
  StartCommitter();
  vfs_.SetFull(true);
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), answers_.For(1));
  WaitForHealth([](const CommitterHealth& health) { return !health.status.ok(); });
  committer_.reset();
  EXPECT_EQ(answers_.Wait(1).code(), absl::StatusCode::kResourceExhausted);
  vfs_.SetFull(false);
  EXPECT_THAT(Rows("SELECT * FROM sweeps"), IsEmpty());
}

TEST_F(CommitterTest, FailedFsyncIsFatalAndNothingIsCommittedAfterIt) {
  StartCommitter();
  vfs_.SetSyncFails(true);
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), answers_.For(1));
  EXPECT_THAT(fatal_.Wait(0), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("disk I/O error (SQLite's code 1034); the disk failed")));
  EXPECT_EQ(answers_.Wait(1).code(), absl::StatusCode::kDataLoss);
  vfs_.SetSyncFails(false);
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), answers_.For(2));
  EXPECT_EQ(answers_.Wait(2).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(committer_->Health().status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(fatal_.count(), 1u);
}

// A checkpoint whose fsync failed must not be tried again: a second one that succeeds would give up the log
// that still has the pages.
TEST_F(CommitterTest, FailedFsyncOfACheckpointIsFatalToo) {
  CommitterOptions options;
  options.idle_checkpoint = std::chrono::milliseconds(1);
  MustApply(Sweep(1));
  StartCommitter(options);
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), [this](absl::Status status) {
    vfs_.SetSyncFails(true);  // After the commit, before the idle checkpoint.
    answers_.For(2)(std::move(status));
  });
  EXPECT_TRUE(answers_.Wait(2).ok());
  EXPECT_EQ(fatal_.Wait(0).code(), absl::StatusCode::kDataLoss);
  vfs_.SetSyncFails(false);
}

TEST_F(CommitterTest, BulkAboveTheLimitIsRefusedAndControlIsNot) {
  MustStart();
  vfs_.SetFull(true);
  CommitterOptions options;
  options.queued_bytes_max = 2000;
  StartCommitter(options);
  committer_->Submit(Batch(Lane::kControl, Sweep(2)), answers_.For(2));
  WaitForHealth([](const CommitterHealth& health) { return !health.status.ok(); });
  committer_->Submit(Batch(Lane::kBulk, LogRow{1, std::string(3000, 'x'), {}}), answers_.For(3));
  EXPECT_FALSE(committer_->Health().accepts_bulk);
  committer_->Submit(Batch(Lane::kBulk, LogRow{1, "y", {}}), answers_.For(4));
  EXPECT_EQ(answers_.Wait(4).ToString(),
            "RESOURCE_EXHAUSTED: measurements and logs arrive faster than they can be stored; send them "
            "again later");
  committer_->Submit(Batch(Lane::kControl, Sweep(3)), answers_.For(5));
  vfs_.SetFull(false);
  EXPECT_TRUE(answers_.Wait(2).ok());
  EXPECT_TRUE(answers_.Wait(3).ok());
  EXPECT_TRUE(answers_.Wait(5).ok());
  EXPECT_TRUE(committer_->Health().accepts_bulk);
}

TEST_F(CommitterTest, StaleRowsAreCountedAsFenced) {
  MustAddTrial();
  StartCommitter();
  committer_->Submit(Batch(Lane::kBulk, Point(9, "train_loss", 1, 1)), answers_.For(1));
  EXPECT_TRUE(answers_.Wait(1).ok());
  committer_->Flush();
  EXPECT_EQ(committer_->Health().fenced_rows, 1u);
  EXPECT_THAT(Rows("SELECT * FROM measurement"), IsEmpty());
}

TEST_F(CommitterTest, IdleWriterCheckpointsTheWal) {
  CommitterOptions options;
  options.idle_checkpoint = std::chrono::milliseconds(1);
  StartCommitter(options);
  committer_->Submit(Batch(Lane::kControl, Sweep(1)), nullptr);
  committer_->Flush();
  WaitForHealth([](const CommitterHealth& health) { return health.commits == 1 && health.wal_bytes == 0; });
  EXPECT_THAT(Rows("SELECT sweep_id FROM sweeps"), ElementsAre("s-1"));
}

// As kill -9 leaves it: the files as they are, never closed.
TEST_F(CommitterTest, TheWalOfACrashIsInTheDatabaseAfterOpening) {
  SweepRow large = Sweep(1);
  large.spec.set_description(std::string(std::size_t{3} << 20, 'x'));
  MustApply(large);
  const TemporaryFolder copy;
  for (const char* file : {"inlier.db", "inlier.db-wal"})
    std::filesystem::copy_file(folder_.path() / file, copy.path() / file);
  const auto database = Database::Open(copy.path()).value();
  EXPECT_EQ(database->WalBytes(), 0u);
  Store store(*database);
  EXPECT_EQ(store.Load()->sweeps.at(0).spec.description(), large.spec.description());
}

TEST_F(CommitterTest, LargeWalIsCheckpointedBetweenCommits) {
  CommitterOptions options;
  options.wal_bytes_max = 100000;
  options.idle_checkpoint = std::chrono::hours(1);
  StartCommitter(options);
  for (int i = 1; i <= 300; ++i) {
    committer_->Submit(Batch(Lane::kControl, Sweep(i)), nullptr);
    committer_->Flush();
  }
  EXPECT_LT(std::filesystem::file_size(folder_.path() / "inlier.db-wal"), 200000u);
  EXPECT_THAT(Rows("SELECT count(*) FROM sweeps"), ElementsAre("300"));
}

TEST_F(CommitterTest, ConfigDecidesDelayAndRows) {
  v1::CoordinatorConfig config;
  EXPECT_EQ(CommitterOptions::FromConfig(config).commit_delay, std::chrono::milliseconds(2));
  EXPECT_EQ(CommitterOptions::FromConfig(config).commit_rows_max, 4096u);
  config.set_commit_delay_ms(7);
  EXPECT_EQ(CommitterOptions::FromConfig(config).commit_delay, std::chrono::milliseconds(7));
}

}  // namespace
}  // namespace inlier
