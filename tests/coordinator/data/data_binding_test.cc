// Workers whose data differ under one name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;

const std::string kOne(64, '1'), kTwo(64, '2');

struct DataBindingTest : OneWorkerTest {
  // The worker's only attempt finds data of this digest.
  void Start(HandWorker& of, const std::string& digest) {
    harness.Sync(of);
    harness.Report(of, StartedEvent(digest));
  }
  // The same, and succeeds.
  void Succeed(HandWorker& of, const std::string& digest) {
    of.Emit(OnlyToken(of), StartedEvent(digest));
    of.Finish(OnlyToken(of));
  }
};

TEST_F(DataBindingTest, AWorkerWithOtherDataIsRefusedByNameAndDigestAndGetsNoSuchStageAgain) {
  sweep = harness.Submit(SmallSweep("s", 2));
  HandWorker one("one", 1), two("two", 1);
  Start(one, kOne);
  harness.Sync(two);
  const Token refused = OnlyToken(two);
  two.Emit(refused, StartedEvent(kTwo));
  const v1::CoordinatorSync answer = harness.Sync(two);
  EXPECT_EQ(answer.desired_size(), 0);
  ASSERT_EQ(answer.stop_size(), 1);
  EXPECT_THAT(answer.stop(0).reason(),
              HasSubstr("worker worker-two has other data than the trial began with: "
                        "data.text.corpus kjv has digest " +
                        kTwo + " there, and has digest " + kOne + " on worker worker-one"));
  EXPECT_EQ(
      harness.Query("SELECT failure, dataset_digest FROM attempts WHERE token = " + std::to_string(refused)),
      "OTHER_DATA|" + kTwo + "\n");
  for (int i = 0; i < 3; ++i) {
    harness.Tick();
    EXPECT_EQ(harness.Sync(two).desired_size(), 0);
  }
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("worker worker-two has other data, with digest 222222222222"));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 0u);
  // The other worker does both.
  one.Finish(OnlyToken(one));
  for (int round = 0; round < 6; ++round) {
    harness.Sync(one);
    if (one.running().empty()) continue;
    Succeed(one, kOne);
  }
  harness.Sync(one);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
  EXPECT_EQ(harness.Query("SELECT count(*) FROM results WHERE dataset_digest = '" + kOne + "'"), "2\n");
}

TEST_F(DataBindingTest, AnEvaluationOnOtherDataIsRefusedToo) {
  sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker one("one", 1), two("two", 1);
  harness.Sync(one);
  Succeed(one, kOne);
  one.fields().set_draining(true);
  harness.Sync(one);
  Start(two, kTwo);
  harness.Restart();
  one.fields().set_draining(false);
  harness.Sync(one);
  Succeed(one, kOne);
  harness.Sync(one);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
}

TEST_F(DataBindingTest, WhereEveryWorkerHasOtherDataTheTrialFailsWithTheReason) {
  sweep = harness.Submit(SmallSweep("s", 2));
  HandWorker one = harness.Connect("one");
  Succeed(one, kOne);
  harness.Sync(one);
  // The file is replaced while the sweep runs.
  harness.Report(one, StartedEvent(kTwo));
  harness.Tick();
  harness.Sync(one);
  for (int i = 0; i < 3; ++i) {
    if (!one.running().empty()) one.Emit(OnlyToken(one), StartedEvent(kTwo));
    harness.Sync(one);
    harness.Tick();
  }
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 2u);
  EXPECT_THAT(
      harness.Why("t-1"),
      AllOf(HasSubstr("no connected worker has the data that it began with"), HasSubstr("111111111111"),
            HasSubstr("worker worker-one has digest 222222222222"), HasSubstr("submit the sweep again")));
  // The old files are put back.
  EXPECT_EQ(harness.RetrySweep(sweep), 2u);
  for (int i = 0; i < 6; ++i) {
    harness.Tick();
    harness.Sync(one);
    if (one.running().empty()) continue;
    Succeed(one, kOne);
  }
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
}

// Else a sweep of gangs would wait for the data of a worker that never looks for them.
TEST_F(DataBindingTest, AWorkerOnWhichTheTrialNeverFitsIsNoHopeForItsData) {
  v1::SweepSpec gangs = SmallSweep("gangs", 2);
  gangs.mutable_resources()->set_processes(2);
  sweep = harness.Submit(gangs);
  HandWorker one("one", 2), small("small", 1);
  harness.Sync(small);
  harness.Sync(one);
  Succeed(one, kOne);
  for (int i = 0; i < 5; ++i) {
    harness.Sync(small);
    harness.Sync(one);
    harness.Tick();
    for (const auto& [token, assignment] : std::map(one.running())) one.Emit(token, StartedEvent(kTwo));
  }
  EXPECT_GE(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("worker worker-one has digest 222222222222"));
}

TEST_F(DataBindingTest, ItWaitsForAWorkerThatHadTheDataAndMayComeBack) {
  sweep = harness.Submit(SmallSweep("s", 2));
  HandWorker one("one", 1), two("two", 1);
  Start(one, kOne);
  Start(two, kTwo);
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

TEST_F(DataBindingTest, RefusalsCountAgainstNoLimitOfTheTrial) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);
  spec.mutable_retry()->set_max_crashes(1);
  sweep = harness.Submit(spec);
  HandWorker one = harness.Connect("one");
  one.Emit(OnlyToken(one), StartedEvent(kOne));
  harness.Report(one, CheckpointEvent(40, false));
  one.fields().set_draining(true);
  harness.Report(one, FailureEvent(v1::OUT_OF_MEMORY, "too large"));
  for (const char* name : {"two", "three", "four"}) {
    HandWorker other(name, 1);
    harness.Sync(other);
    harness.Report(other, StartedEvent(kTwo));
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
