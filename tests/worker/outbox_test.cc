// The outbox against a real disk. A dead incarnation is an outbox object that was destroyed without being
// acknowledged: its lock is free, its journal is what a killed process leaves.
#include "worker/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files/file.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

Outbox::Entry Point(std::uint64_t token, std::uint64_t step, bool final = false) {
  Outbox::Entry entry{token, "stage", {}};
  entry.event.mutable_measurement()->set_name("train_loss");
  entry.event.mutable_measurement()->set_step(step);
  entry.event.mutable_measurement()->set_final(final);
  return entry;
}

Outbox::Entry LogEntry(const std::string& text) {
  Outbox::Entry entry{1, "stage", {}};
  entry.event.mutable_log()->set_text(text);
  return entry;
}

class OutboxTest : public testing::Test {
 protected:
  std::unique_ptr<Outbox> Open(const std::string& incarnation, std::size_t events_max = 1000) {
    return Outbox::Open(state_.path(), incarnation, events_max).value();
  }
  fs::path JournalOf(const std::string& incarnation) { return state_ / "outbox" / incarnation / "journal"; }

  const TemporaryFolder state_;
};

std::vector<std::uint64_t> Sequences(const std::vector<v1::NumberedEvent>& events) {
  std::vector<std::uint64_t> sequences;
  for (const auto& event : events) sequences.push_back(event.sequence());
  return sequences;
}

std::vector<std::uint64_t> Steps(const std::vector<v1::NumberedEvent>& events) {
  std::vector<std::uint64_t> steps;
  for (const auto& event : events) steps.push_back(event.event().measurement().step());
  return steps;
}

TEST_F(OutboxTest, EventsAreNumberedFromOneAndStayUntilAcknowledged) {
  const auto outbox = Open("a");
  std::uint64_t last = 0;
  ASSERT_TRUE(outbox->Append({Point(1, 10), Point(1, 11)}, &last).ok());
  EXPECT_EQ(last, 2u);
  ASSERT_TRUE(outbox->Append({Point(1, 12, true)}, &last).ok());
  EXPECT_EQ(last, 3u);
  EXPECT_THAT(Sequences(outbox->Pending(0, 100, 1 << 20)), ElementsAre(1, 2, 3));
  outbox->Acknowledge(2);
  EXPECT_THAT(Sequences(outbox->Pending(0, 100, 1 << 20)), ElementsAre(3));
  outbox->Acknowledge(1);  // Late and lower: nothing comes back.
  EXPECT_THAT(Sequences(outbox->Pending(0, 100, 1 << 20)), ElementsAre(3));
  EXPECT_EQ(outbox->acknowledged(), 2u);
}

TEST_F(OutboxTest, PendingRespectsStartCountAndBytes) {
  const auto outbox = Open("a");
  for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(outbox->Append({Point(1, i)}).ok());
  EXPECT_THAT(Sequences(outbox->Pending(4, 3, 1 << 20)), ElementsAre(5, 6, 7));
  EXPECT_THAT(Sequences(outbox->Pending(0, 100, 1)), ElementsAre(1));  // One always goes.
  EXPECT_THAT(outbox->Pending(10, 100, 1 << 20), IsEmpty());
}

TEST_F(OutboxTest, AnAcknowledgementOfUnsentNumbersIsCapped) {
  const auto outbox = Open("a");
  outbox->Acknowledge(99);
  ASSERT_TRUE(outbox->Append({Point(1, 1, true)}).ok());
  EXPECT_THAT(Sequences(outbox->Pending(0, 100, 1 << 20)), ElementsAre(1));
}

TEST_F(OutboxTest, PointsAndLogsAreThinnedWithACountButResultsNever) {
  const auto outbox = Open("a", 100);
  for (std::uint64_t i = 1; i <= 1000; ++i)
    ASSERT_TRUE(outbox->Append({i % 20 == 0 ? Point(1, i, true) : Point(1, i)}).ok());
  const auto pending = outbox->Pending(0, 10000, 1 << 30);
  EXPECT_LE(pending.size(), 100u);
  EXPECT_EQ(outbox->thinned() + pending.size(), 1000u);
  int results = 0;
  for (const auto& event : pending) results += event.event().measurement().final();
  EXPECT_EQ(results, 50);
  EXPECT_TRUE(std::is_sorted(pending.begin(), pending.end(),
                             [](const auto& a, const auto& b) { return a.sequence() < b.sequence(); }));
}

TEST_F(OutboxTest, ResultsAloneMayPassTheLimit) {
  const auto outbox = Open("a", 100);
  for (std::uint64_t i = 1; i <= 300; ++i) ASSERT_TRUE(outbox->Append({Point(1, i, true)}).ok());
  EXPECT_EQ(outbox->size(), 300u);
  EXPECT_EQ(outbox->thinned(), 0u);
}

TEST_F(OutboxTest, TheNextIncarnationTakesOverTheUndeliveredEventsOfADeadOne) {
  {
    const auto dead = Open("dead");
    ASSERT_TRUE(dead->Append({Point(7, 1), Point(7, 2, true)}).ok());
    Outbox::Entry outcome{7, "stage", {}};
    outcome.event.mutable_outcome()->set_kind(v1::Outcome::SUCCEEDED);
    ASSERT_TRUE(dead->Append({outcome}).ok());
  }
  {
    const auto next = Open("next");
    EXPECT_EQ(next->size(), 3u);
    const auto pending = next->Pending(0, 100, 1 << 20);
    EXPECT_THAT(Sequences(pending), ElementsAre(1, 2, 3));
    EXPECT_EQ(pending[1].token(), 7u);
    EXPECT_EQ(pending[1].stage_id(), "stage");
    EXPECT_TRUE(pending[1].event().measurement().final());
    EXPECT_EQ(pending[2].event().outcome().kind(), v1::Outcome::SUCCEEDED);
    EXPECT_FALSE(fs::exists(state_.path() / "outbox" / "dead"));
    // It dies, too, before anything was acknowledged.
  }
  const auto third = Open("third");
  EXPECT_THAT(Steps(third->Pending(0, 100, 1 << 20)), ElementsAre(1, 2, 0));
}

// The next worker may be that of a coordinator with another database, in which the tokens mean other attempts.
TEST_F(OutboxTest, EventsKeepTheDatabaseOfTheirAttempts) {
  {
    const auto dead = Open("dead");
    EXPECT_TRUE(dead->SetDatabase("first"));
    ASSERT_TRUE(dead->Append({Point(7, 1, true)}).ok());
    EXPECT_FALSE(dead->SetDatabase("second"));
    ASSERT_TRUE(dead->Append({Point(7, 2, true)}).ok());
  }
  const auto next = Open("next");
  EXPECT_TRUE(next->SetDatabase("second"));
  ASSERT_TRUE(next->Append({Point(7, 3, true)}).ok());
  std::vector<std::string> databases;
  for (const v1::NumberedEvent& event : next->Pending(0, 100, 1 << 20))
    databases.push_back(event.database_id());
  EXPECT_THAT(databases, ElementsAre("first", "first", "second"));
}

TEST_F(OutboxTest, AcknowledgedEventsAreNotTakenOver) {
  {
    const auto dead = Open("dead");
    ASSERT_TRUE(dead->Append({Point(7, 1, true)}).ok());
    dead->Acknowledge(1);
    ASSERT_TRUE(dead->Compact().ok());
  }
  EXPECT_EQ(Open("next")->size(), 0u);
}

TEST_F(OutboxTest, TheOutboxOfALivingWorkerIsLeftAlone) {
  const auto living = Open("living");
  ASSERT_TRUE(living->Append({Point(7, 1, true)}).ok());
  const auto other = Open("other");
  EXPECT_EQ(other->size(), 0u);
  EXPECT_TRUE(fs::exists(JournalOf("living")));
  EXPECT_THAT(Steps(living->Pending(0, 100, 1 << 20)), ElementsAre(1));
}

// A worker's folder was found by another that started at the same moment, between the making of its lock and
// the taking of it: that one took it for a dead worker's, removed it, and this one ended with "cannot open
// journal".
TEST_F(OutboxTest, WorkersThatStartAtTheSameMomentLeaveEachOtherAlone) {
  constexpr int kRounds = 150;
  const auto start = [this](const std::string& name) {
    for (int round = 0; round < kRounds; ++round) {
      const auto outbox = Outbox::Open(state_.path(), name + std::to_string(round), 1000);
      ASSERT_TRUE(outbox.ok()) << outbox.status();
      ASSERT_TRUE((*outbox)->Remove().ok());
    }
  };
  std::thread first(start, "a");
  std::thread second(start, "b");
  std::thread third(start, "c");
  first.join();
  second.join();
  third.join();
}

TEST_F(OutboxTest, ATornTailIsIgnoredAndTheRecordsBeforeItAreKept) {
  const fs::path journal = JournalOf("dead");
  {
    const auto dead = Open("dead");
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(dead->Append({Point(7, i, true)}).ok());
  }
  fs::resize_file(journal, fs::file_size(journal) - 2);
  {
    const auto next = Open("second");
    EXPECT_THAT(Steps(next->Pending(0, 100, 1 << 20)), ElementsAre(1, 2));
  }
  // Garbage inside: only the records before it are valid.
  const fs::path second = JournalOf("second");
  const absl::StatusOr<std::string> bytes = ReadFile(second);
  std::string damaged = *bytes;
  damaged[damaged.size() / 2 + 20] ^= 0x40;
  std::ofstream(second, std::ios::binary | std::ios::trunc) << damaged;
  const auto third = Open("third");
  EXPECT_THAT(Steps(third->Pending(0, 100, 1 << 20)), ElementsAre(1));
}

TEST_F(OutboxTest, CompactEmptiesTheJournalOnceEverythingIsAcknowledged) {
  const auto outbox = Open("a");
  const fs::path journal = JournalOf("a");
  ASSERT_TRUE(outbox->Append({Point(1, 1, true), LogEntry("hello")}).ok());
  EXPECT_GT(fs::file_size(journal), 0u);
  outbox->Acknowledge(1);
  ASSERT_TRUE(outbox->Compact().ok());
  EXPECT_GT(fs::file_size(journal), 0u);
  outbox->Acknowledge(2);
  ASSERT_TRUE(outbox->Compact().ok());
  EXPECT_EQ(fs::file_size(journal), 0u);
}

TEST_F(OutboxTest, CompactRewritesALargeJournalToThePendingEvents) {
  const fs::path journal = JournalOf("a");
  {
    const auto outbox = Open("a");
    const std::string text(1 << 20, 'x');
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(outbox->Append({LogEntry(text)}).ok());
    ASSERT_TRUE(outbox->Append({Point(1, 77, true)}).ok());
    outbox->Acknowledge(20);
    ASSERT_TRUE(outbox->Compact().ok());
    EXPECT_LT(fs::file_size(journal), 1000u);
    ASSERT_TRUE(outbox->Append({Point(1, 78, true)}).ok());  // The rewritten file is appended to.
  }
  EXPECT_THAT(Steps(Open("b")->Pending(0, 100, 1 << 20)), ElementsAre(77, 78));
}

TEST_F(OutboxTest, TheJournalStaysSmallWhileNothingIsAcknowledged) {
  const fs::path journal = JournalOf("a");
  {
    const auto outbox = Open("a", 100);
    ASSERT_TRUE(outbox->Append({Point(1, 1, true)}).ok());
    const std::string text(64 << 10, 'x');
    for (int i = 0; i < 800; ++i) ASSERT_TRUE(outbox->Append({LogEntry(text)}).ok());
    EXPECT_LE(outbox->size(), 100u);
    EXPECT_LT(fs::file_size(journal), 24u << 20);
    ASSERT_TRUE(outbox->Append({Point(1, 2, true)}).ok());
  }
  std::vector<std::uint64_t> steps = Steps(Open("b")->Pending(0, 1000, 1 << 30));
  EXPECT_EQ(steps.front(), 1u);
  EXPECT_EQ(steps.back(), 2u);
}

TEST_F(OutboxTest, OnlyAnEmptyOutboxCanBeRemoved) {
  const auto outbox = Open("a");
  ASSERT_TRUE(outbox->Append({Point(1, 1, true)}).ok());
  EXPECT_EQ(outbox->Remove().code(), absl::StatusCode::kFailedPrecondition);
  outbox->Acknowledge(1);
  EXPECT_TRUE(outbox->Remove().ok());
  EXPECT_FALSE(fs::exists(state_.path() / "outbox" / "a"));
}

TEST_F(OutboxTest, ADiskErrorIsReturnedAndTheEventIsStillDelivered) {
  // /dev/full stands in for a full disk: the journal is replaced by a link to it before it is opened.
  fs::create_directories(state_.path() / "outbox" / "a");
  fs::create_symlink("/dev/full", JournalOf("a"));
  const auto outbox = Open("a");
  const absl::Status status = outbox->Append({Point(1, 5, true)});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("journal"));
  EXPECT_THAT(Steps(outbox->Pending(0, 100, 1 << 20)), ElementsAre(5));
}

TEST_F(OutboxTest, HasResultAfterDistinguishesResultsFromPoints) {
  const auto outbox = Open("a");
  ASSERT_TRUE(outbox->Append({Point(1, 1)}).ok());
  EXPECT_FALSE(outbox->HasResultAfter(0));
  ASSERT_TRUE(outbox->Append({Point(1, 2, true)}).ok());
  EXPECT_TRUE(outbox->HasResultAfter(1));
  EXPECT_FALSE(outbox->HasResultAfter(2));
  outbox->Acknowledge(2);
  EXPECT_FALSE(outbox->HasResultAfter(0));
}

TEST_F(OutboxTest, KeepsStartsCheckpointsOutcomesAndFinalMeasurements) {
  EXPECT_TRUE(MustKeep(Point(1, 1, true).event));
  EXPECT_FALSE(MustKeep(Point(1, 1, false).event));
  EXPECT_FALSE(MustKeep(LogEntry("x").event));
  v1::TrialEvent event;
  EXPECT_FALSE(MustKeep(event));
  event.mutable_checkpoint();
  EXPECT_TRUE(MustKeep(event));
  event.mutable_started();
  EXPECT_TRUE(MustKeep(event));
  event.mutable_outcome();
  EXPECT_TRUE(MustKeep(event));
}

}  // namespace
}  // namespace inlier
