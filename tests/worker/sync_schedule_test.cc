#include "worker/sync_schedule.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using namespace std::chrono_literals;
using Urgency = SyncSchedule::Urgency;

class SyncScheduleTest : public testing::Test {
 protected:
  SyncScheduleTest() {
    auto outbox = Outbox::Open(folder_.path(), "a", 1000);
    INLIER_CHECK(outbox.ok());
    outbox_ = *std::move(outbox);
    schedule_.OnCallOpened(*outbox_, now_);
  }
  void Append(bool result) {
    Outbox::Entry entry{1, "stage", {}};
    entry.event.mutable_measurement()->set_final(result);
    ASSERT_TRUE(outbox_->Append({entry}).ok());
  }
  v1::WorkerSync Send(std::size_t events_max = 1000) {
    v1::WorkerSync sync;
    schedule_.Fill(sync, *outbox_, {.events_max = events_max}, now_, kPeriod);
    return sync;
  }
  std::optional<Duration> Answer(const v1::WorkerSync& sync, std::uint64_t acknowledged) {
    v1::CoordinatorSync answer;
    answer.set_sync_id(sync.sync_id());
    answer.set_acknowledged_sequence(acknowledged);
    outbox_->Acknowledge(acknowledged);
    return schedule_.OnAnswered(answer, now_, kPeriod);
  }
  Duration Due() const { return schedule_.SendAt(*outbox_) - now_; }

  static constexpr Duration kPeriod = 5s;
  TemporaryFolder folder_;
  std::unique_ptr<Outbox> outbox_;
  Timestamp now_{100s};
  SyncSchedule schedule_;
};

TEST_F(SyncScheduleTest, TheFirstSyncOfACallIsDueAtOnceAndTheNextAtTheHeartbeat) {
  EXPECT_EQ(Due(), 0s);
  Answer(Send(), 0);
  EXPECT_EQ(Due(), kPeriod);
}

TEST_F(SyncScheduleTest, TheDelayOfNewsDependsOnTheirUrgency) {
  Answer(Send(), 0);
  schedule_.Request(Urgency::kProgress);
  EXPECT_EQ(Due(), 500ms);
  Append(/*result=*/false);
  EXPECT_EQ(Due(), 100ms);
  Append(/*result=*/true);
  EXPECT_EQ(Due(), 2ms);
}

TEST_F(SyncScheduleTest, NewsWaitForTheAnswerToTheLastSync) {
  const v1::WorkerSync first = Send();
  Append(/*result=*/true);
  EXPECT_EQ(Due(), kPeriod);
  now_ += 40ms;
  EXPECT_EQ(schedule_.unanswered_since(), Timestamp{100s});
  EXPECT_EQ(Answer(first, 0), 40ms);
  EXPECT_EQ(schedule_.unanswered_since(), std::nullopt);
  EXPECT_LE(Due(), 0s);
}

TEST_F(SyncScheduleTest, EventsAboveTheLimitGoWithTheNextSync) {
  for (int i = 0; i < 3; ++i) Append(/*result=*/true);
  const v1::WorkerSync first = Send(2);
  EXPECT_EQ(first.events_size(), 2);
  EXPECT_EQ(first.events_after(), 0u);
  const v1::WorkerSync second = Send(2);
  EXPECT_EQ(second.events_size(), 1);
  EXPECT_EQ(second.events_after(), 2u);
  EXPECT_GT(second.sync_id(), first.sync_id());
}

TEST_F(SyncScheduleTest, EventsThatWereNotTakenAreSentAgainALittleLater) {
  Append(/*result=*/true);
  Answer(Send(), 0);
  EXPECT_EQ(Due(), 500ms);
  EXPECT_EQ(Send().events_size(), 1);
}

TEST_F(SyncScheduleTest, ANewCallSendsTheUnacknowledgedEventsAgain) {
  for (int i = 0; i < 2; ++i) Append(/*result=*/true);
  Answer(Send(), 1);
  schedule_.OnCallEnded();
  schedule_.OnCallOpened(*outbox_, now_);
  const v1::WorkerSync sync = Send();
  ASSERT_EQ(sync.events_size(), 1);
  EXPECT_EQ(sync.events(0).sequence(), 2u);
  EXPECT_EQ(sync.events_after(), 1u);
}

TEST_F(SyncScheduleTest, AnOvertakenAnswerAndOneToAnUnknownSyncAreNotExpected) {
  const v1::WorkerSync first = Send();
  const v1::WorkerSync second = Send();
  EXPECT_TRUE(schedule_.Expects(first.sync_id()));
  Answer(second, 0);
  EXPECT_FALSE(schedule_.Expects(first.sync_id()));
  EXPECT_TRUE(schedule_.Expects(second.sync_id()));
  EXPECT_FALSE(schedule_.Expects(second.sync_id() + 1));
}

TEST_F(SyncScheduleTest, OnlyTheAnswerToASyncThatSaidItKnowsOfTheEnd) {
  v1::CoordinatorSync answer;
  answer.set_sync_id(Send().sync_id());  // Still on its way when the next one leaves.
  v1::WorkerSync last;
  last.set_draining(true);
  schedule_.Fill(last, *outbox_, {}, now_, kPeriod);
  EXPECT_FALSE(schedule_.KnowsOfTheEnd(answer));
  answer.set_sync_id(last.sync_id());
  EXPECT_TRUE(schedule_.KnowsOfTheEnd(answer));
}

}  // namespace
}  // namespace inlier
