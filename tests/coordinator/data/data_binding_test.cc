// Workers whose data differ under one name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "coordinator/decisions/tick.h"
#include "coordinator/status/explain.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;

const std::string kOne(64, '1'), kTwo(64, '2');

std::string WhyItWaits(Harness& harness, const std::string& trial) {
  v1::ExplainRequest request;
  request.set_trial(trial);
  const auto why = Explain(harness.orchestrator().state(), request, harness.now());
  return why.ok() ? why->ShortDebugString() : why.status().ToString();
}

TEST(DataBindingTest, AWorkerWithOtherDataIsRefusedByNameAndDigestAndGetsNoSuchStageAgain) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 2));
  HandWorker one("one", 1), two("two", 1);
  harness.Sync(one);
  one.Emit(OnlyToken(one), StartedEvent(kOne));
  harness.Sync(one);
  harness.Sync(two);
  const Token refused = OnlyToken(two);
  two.Emit(refused, StartedEvent(kTwo));
  const v1::CoordinatorSync answer = harness.Sync(two);
  EXPECT_EQ(answer.desired_size(), 0);
  ASSERT_EQ(answer.stop_size(), 1);
  EXPECT_THAT(answer.stop(0).reason(),
              HasSubstr("worker worker-two has other data than the trial began with: "
                        "data.text.corpus kjv has digest " +
                        kTwo + " there, and " + kOne + " on worker worker-one"));
  EXPECT_EQ(
      harness.Query("SELECT failure, dataset_digest FROM attempts WHERE token = " + std::to_string(refused)),
      "OTHER_DATA|" + kTwo + "\n");
  for (int i = 0; i < 3; ++i) {
    harness.Tick();
    EXPECT_EQ(harness.Sync(two).desired_size(), 0);
  }
  EXPECT_THAT(WhyItWaits(harness, "t-2"),
              HasSubstr("worker worker-two has other data, with digest 222222222222"));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 0u);
  // The other worker does both.
  one.Finish(OnlyToken(one));
  for (int round = 0; round < 6; ++round) {
    harness.Sync(one);
    if (one.running().empty()) continue;
    const Token token = OnlyToken(one);
    one.Emit(token, StartedEvent(kOne));
    one.Finish(token);
  }
  harness.Sync(one);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
  EXPECT_EQ(harness.Query("SELECT count(*) FROM results WHERE dataset_digest = '" + kOne + "'"), "2\n");
}

TEST(DataBindingTest, AnEvaluationOnOtherDataIsRefusedToo) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker one("one", 1), two("two", 1);
  harness.Sync(one);
  const Token train = OnlyToken(one);
  one.Emit(train, StartedEvent(kOne));
  one.Finish(train);
  one.fields().set_draining(true);
  harness.Sync(one);
  harness.Sync(two);
  two.Emit(OnlyToken(two), StartedEvent(kTwo));
  harness.Sync(two);
  harness.Restart();
  one.fields().set_draining(false);
  harness.Sync(one);
  const Token evaluate = OnlyToken(one);
  one.Emit(evaluate, StartedEvent(kOne));
  one.Finish(evaluate);
  harness.Sync(one);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
}

TEST(DataBindingTest, WhereEveryWorkerHasOtherDataTheTrialFailsWithTheReason) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 2));
  HandWorker one("one", 1);
  harness.Sync(one);
  const Token first = OnlyToken(one);
  one.Emit(first, StartedEvent(kOne));
  one.Finish(first);
  harness.Sync(one);
  // The file is replaced while the sweep runs.
  one.Emit(OnlyToken(one), StartedEvent(kTwo));
  harness.Sync(one);
  harness.Tick();
  harness.Sync(one);
  for (int i = 0; i < 3; ++i) {
    if (!one.running().empty()) one.Emit(OnlyToken(one), StartedEvent(kTwo));
    harness.Sync(one);
    harness.Tick();
  }
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 2u);
  EXPECT_THAT(
      WhyItWaits(harness, "t-1"),
      AllOf(HasSubstr("no connected worker has the data that it began with"), HasSubstr("111111111111"),
            HasSubstr("worker worker-one has digest 222222222222"), HasSubstr("submit the sweep again")));
  // The old files are put back.
  EXPECT_EQ(harness.RetrySweep(sweep), 2u);
  for (int i = 0; i < 6; ++i) {
    harness.Tick();
    harness.Sync(one);
    if (one.running().empty()) continue;
    const Token token = OnlyToken(one);
    one.Emit(token, StartedEvent(kOne));
    one.Finish(token);
  }
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
}

// Else a sweep of gangs would wait for the data of a worker that never looks for them.
TEST(DataBindingTest, AWorkerOnWhichTheTrialNeverFitsIsNoHopeForItsData) {
  Harness harness;
  v1::SweepSpec gangs = SmallSweep("gangs", 2);
  gangs.mutable_resources()->set_processes(2);
  const SweepId sweep = harness.Submit(gangs);
  HandWorker one("one", 2), small("small", 1);
  harness.Sync(small);
  harness.Sync(one);
  const Token first = OnlyToken(one);
  one.Emit(first, StartedEvent(kOne));
  one.Finish(first);
  for (int i = 0; i < 5; ++i) {
    harness.Sync(small);
    harness.Sync(one);
    harness.Tick();
    for (const auto& [token, assignment] : std::map(one.running())) one.Emit(token, StartedEvent(kTwo));
  }
  EXPECT_GE(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(WhyItWaits(harness, "t-2"), HasSubstr("worker worker-one has digest 222222222222"));
}

TEST(DataBindingTest, ItWaitsForAWorkerThatHadTheDataAndMayComeBack) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 2));
  HandWorker one("one", 1), two("two", 1);
  harness.Sync(one);
  one.Emit(OnlyToken(one), StartedEvent(kOne));
  harness.Sync(one);
  harness.Sync(two);
  two.Emit(OnlyToken(two), StartedEvent(kTwo));
  harness.Sync(two);
  for (int i = 0; i < 50; ++i) {  // Worker one is silent: its attempt is lost.
    harness.Advance(minutes(1));
    harness.Sync(two);
    harness.Tick();
    EXPECT_EQ(two.running().size(), 0u);
  }
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 0u);
  for (int i = 0; i < 12; ++i) {
    harness.Advance(minutes(1));
    harness.Sync(two);
    harness.Tick();
  }
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 2u);
}

TEST(DataBindingTest, RefusalsCountAgainstNoLimitOfTheTrial) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);
  spec.mutable_retry()->set_max_crashes(1);
  Harness harness;
  const SweepId sweep = harness.Submit(spec);
  HandWorker one("one", 1);
  harness.Sync(one);
  one.Emit(OnlyToken(one), StartedEvent(kOne));
  one.Emit(OnlyToken(one), CheckpointEvent(40, false));
  harness.Sync(one);
  one.fields().set_draining(true);
  one.Emit(OnlyToken(one), FailureEvent(v1::OUT_OF_MEMORY, "too large"));
  harness.Sync(one);
  for (const char* name : {"two", "three", "four"}) {
    HandWorker other(name, 1);
    harness.Sync(other);
    other.Emit(OnlyToken(other), StartedEvent(kTwo));
    harness.Sync(other);
    EXPECT_TRUE(other.running().empty());
  }
  one.fields().set_draining(false);
  harness.Sync(one);
  const Token again = OnlyToken(one);
  EXPECT_EQ(one.running().at(again).resume_step(), 40u);
  one.Emit(again, StartedEvent(kOne));
  one.Finish(again);
  RunAll(harness, one);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
}

}  // namespace
}  // namespace inlier
