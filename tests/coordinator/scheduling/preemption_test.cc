// While a stage of a sweep that preempts waits, attempts of lower priority yield.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/state/feature.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// No two of different `steps` share a training.
v1::SweepSpec SweepWithPriority(const std::string& name, int seeds, std::uint32_t steps, int priority,
                                bool preempts) {
  v1::SweepSpec sweep = SmallSweep(name, seeds);
  sweep.mutable_base()->mutable_training()->set_steps(steps);
  sweep.set_priority(priority);
  sweep.set_preempts(preempts);
  return sweep;
}

// It writes its checkpoint and stops, as requested.
void Stop(HandWorker& worker, Token token, std::uint64_t step) {
  worker.Emit(token, CheckpointEvent(step, false));
  worker.Emit(token, FailureEvent(v1::PREEMPTED, "stopped"));
}

class PreemptionTest : public testing::Test {
 protected:
  // A low sweep runs on both slots: tokens 1 and 2.
  void SetUp() override {
    low_ = harness_.Submit(SweepWithPriority("low", 3, 100, 0, false));
    harness_.Sync(worker_);
    ASSERT_EQ(worker_.running().size(), 2u);
  }

  // Tokens of live attempts that yield.
  std::vector<Token> Yielding() {
    std::vector<Token> tokens;
    const std::string rows = harness_.Query(
        "SELECT token FROM attempt WHERE yields IS NOT NULL AND ended_ms IS NULL ORDER BY token");
    for (std::size_t at = 0; at < rows.size(); at = rows.find('\n', at) + 1)
      tokens.push_back(std::stoull(rows.substr(at)));
    return tokens;
  }
  // The same a moment later.
  std::vector<Token> Look() {
    harness_.TickAfter(milliseconds(500));
    return Yielding();
  }

  Harness harness_;
  HandWorker worker_{"w", 2};
  SweepId low_;
};

TEST_F(PreemptionTest, AnAttemptOfLowerPriorityWritesACheckpointAndYields) {
  const SweepId high = harness_.Submit(SweepWithPriority("high", 1, 200, 5, true));
  EXPECT_THAT(Look(), ElementsAre(2));  // The one that started last.
  const auto reply = harness_.TrySync(worker_.Sync()).value();
  EXPECT_EQ(reply.desired_size(), 1);
  ASSERT_EQ(reply.stop_size(), 1);
  EXPECT_EQ(reply.stop(0).token(), 2u);
  EXPECT_EQ(reply.stop(0).reason(), "sweep s-2 of priority 5 needs its slot (it preempts)");
  EXPECT_EQ(harness_.Status(high).trials().running(), 0u);  // Its process is still there.
}

TEST_F(PreemptionTest, TheStageResumesFromItsCheckpointAndNoFailureIsCounted) {
  const SweepId high = harness_.Submit(SweepWithPriority("high", 1, 200, 5, true));
  Look();
  Stop(worker_, 2, 40);
  harness_.Sync(worker_);
  EXPECT_EQ(harness_.Status(high).trials().running(), 1u);
  EXPECT_EQ(harness_.Query("SELECT outcome, failure FROM attempt WHERE token = 2"), "PREEMPTED|PREEMPTED\n");
  EXPECT_EQ(harness_.Query("SELECT state, losses, crashes FROM stage WHERE id = 3"), "PENDING|0|0\n");
  EXPECT_THAT(Look(), IsEmpty());
  for (int stage = 0; stage < 2; ++stage) {  // The high sweep's training and evaluation.
    ASSERT_EQ(worker_.running().size(), 2u);
    harness_.Finish(worker_, worker_.running().rbegin()->first);
  }
  ASSERT_EQ(worker_.running().size(), 2u);
  EXPECT_EQ(worker_.running().rbegin()->second.resume_step(), 40u);
}

TEST_F(PreemptionTest, ALostAttemptIsRecordedWithTheReasonOfItsPreemption) {
  const std::string reason = "sweep s-2 of priority 5 needs its slot (it preempts)";
  const SweepId high = harness_.Submit(SweepWithPriority("high", 1, 200, 5, true));
  Look();
  harness_.Sync(worker_);  // It gets the stop, and forgets the attempt.
  harness_.Sync(worker_);
  EXPECT_EQ(harness_.Query("SELECT message FROM attempt WHERE token = 2"), reason + "\n");
  EXPECT_EQ(harness_.Query("SELECT message FROM stage WHERE id = 3"), "PREEMPTED: " + reason + "\n");
  EXPECT_EQ(harness_.Query("SELECT message FROM event WHERE kind = 'stage_preempted'"),
            "attempt 1 PREEMPTED: " + reason + "; resumes from its beginning [train t-2 (seed=2, bits=8)]\n");
  EXPECT_EQ(harness_.Status(high).trials().running(), 1u);
}

TEST_F(PreemptionTest, NoMoreAttemptsYieldThanStagesWait) {
  harness_.Submit(SweepWithPriority("high", 1, 200, 5, true));
  for (int i = 0; i < 5; ++i) Look();
  EXPECT_THAT(Yielding(), ElementsAre(2));
  harness_.Submit(SweepWithPriority("more", 1, 300, 5, true));
  for (int i = 0; i < 5; ++i) Look();
  EXPECT_THAT(Yielding(), ElementsAre(1, 2));
}

TEST_F(PreemptionTest, MaxParallelOfTheSweepLimitsTheYieldingAttempts) {
  v1::SweepSpec high = SweepWithPriority("high", 2, 200, 5, true);
  high.set_max_parallel(1);
  harness_.Submit(high);
  Look();
  EXPECT_THAT(Look(), ElementsAre(2));
}

TEST_F(PreemptionTest, EqualsAndSweepsThatDoNotPreemptWait) {
  harness_.Submit(SweepWithPriority("equal", 1, 200, 0, true));
  harness_.Submit(SweepWithPriority("meek", 1, 300, 9, false));
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(PreemptionTest, AnAttemptThatAHigherSweepNeedsTooStays) {
  for (const Token token : {1, 2}) worker_.Emit(token, StartedEvent(""));
  harness_.Sync(worker_);
  harness_.Submit(SweepWithPriority("shares", 3, 100, 5, false));  // The trainings of the low sweep.
  CheckData(harness_, worker_);
  harness_.Submit(SweepWithPriority("high", 1, 200, 5, true));
  EXPECT_THAT(Look(), IsEmpty());
  harness_.Submit(SweepWithPriority("highest", 1, 300, 6, true));
  EXPECT_THAT(Look(), ElementsAre(2));
}

TEST_F(PreemptionTest, TheLowestPriorityGoesFirstAndThenTheLatestCheckpoint) {
  harness_.Advance(milliseconds(1000));
  harness_.Report(worker_, 1, CheckpointEvent(10, false));
  HandWorker other("other", 1);
  v1::SweepSpec middle = SweepWithPriority("middle", 1, 150, 3, false);
  harness_.Submit(middle);
  harness_.Sync(other);
  ASSERT_EQ(other.running().begin()->first, 3u);
  harness_.Submit(SweepWithPriority("high", 3, 200, 5, true));
  EXPECT_THAT(Look(), ElementsAre(1, 2, 3));
  // In that order: 1 has saved last, and 3 is of a higher priority.
  std::vector<std::string> lines;
  for (const std::string& line : harness_.last().log) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("token=1 "));
  EXPECT_THAT(lines[1], HasSubstr("token=2 "));
  EXPECT_THAT(lines[2], HasSubstr("token=3 "));
}

TEST_F(PreemptionTest, NoAttemptYieldsWhileASlotIsFree) {
  HandWorker idle("idle", 1);
  idle.fields().set_draining(true);
  harness_.Sync(idle);
  idle.fields().set_draining(false);
  harness_.Submit(SweepWithPriority("high", 1, 200, 5, true));
  // The store has no space: its slot stays free.
  harness_.Sync(idle, {.grant_leases = false});
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(PreemptionTest, NoAttemptYieldsASlotThatDoesNotFitTheStage) {
  v1::SweepSpec high = SweepWithPriority("high", 1, 200, 5, true);
  high.mutable_resources()->set_gpu(1);
  harness_.Submit(high);
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(PreemptionTest, AYieldSurvivesARestartAndNoOtherAttemptYields) {
  harness_.Submit(SweepWithPriority("high", 1, 200, 5, true));
  Look();
  ASSERT_THAT(Yielding(), ElementsAre(2));
  harness_.Restart();
  EXPECT_THAT(Look(), ElementsAre(2));
  harness_.Sync(worker_);
  EXPECT_THAT(Look(), ElementsAre(2));
}

TEST_F(PreemptionTest, TheDeadlineIsTheNextCheck) {
  harness_.Submit(SweepWithPriority("high", 2, 200, 5, true));
  Look();
  ASSERT_TRUE(NextDeadline(harness_.state()).has_value());
  EXPECT_EQ(*NextDeadline(harness_.state()), harness_.now().at + milliseconds(500));
}

}  // namespace
}  // namespace inlier
