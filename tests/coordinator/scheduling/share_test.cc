// How sweeps share the slots: weights, limits of sweeps and quotas of groups, with the real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// `trials` trainings with an evaluation each, different from those of any other sweep with another `steps`.
v1::SweepSpec SweepOfTrials(const std::string& name, int trials, std::uint32_t steps) {
  v1::SweepSpec spec = SmallSweep(name, trials);
  spec.mutable_base()->mutable_training()->set_steps(steps);
  return spec;
}

// Finishes all that runs and syncs, which starts as much again.
void Turn(Harness& harness, HandWorker& worker) {
  worker.FinishAll();
  harness.Sync(worker);
  harness.Tick();
}

std::uint64_t Ended(const Harness& harness, SweepId sweep) {
  return harness.Status(sweep).trials().succeeded();
}

std::uint32_t Running(const Harness& harness, SweepId sweep) {
  const v1::SweepStatus status = harness.Status(sweep);
  return static_cast<std::uint32_t>(status.train_stages().running() + status.evaluate_stages().running());
}

TEST(OrchestratorShareTest, WeightsOneAndThreeShareTenThousandTrialsAndNoLimitIsExceeded) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.quotas["both"] = 30;
  // Invariants are derived again after every step, so few trials are kept ready.
  options.expand_at_submit = 60;
  options.expand_ahead = 60;
  options.expand_per_tick = 200;
  Harness harness(options, MemoryFolder());
  v1::SweepSpec one = SweepOfTrials("one", 9000, 100);
  v1::SweepSpec three = SweepOfTrials("three", 9000, 200);
  one.set_group("both");
  three.set_group("both");
  three.set_weight(3);
  three.set_max_parallel(28);
  harness.SkipInvariants();
  const SweepId first = harness.Submit(one);
  const SweepId second = harness.Submit(three);
  HandWorker worker("w", 32);
  std::uint64_t ended = 0;
  for (int turn = 0; ended < 10'000 && turn < 2000; ++turn) {
    Turn(harness, worker);
    ASSERT_LE(Running(harness, first) + Running(harness, second), 30u);
    ASSERT_LE(Running(harness, second), 28u);
    ended = Ended(harness, first) + Ended(harness, second);
  }
  ASSERT_GE(ended, 10'000u);
  const double share = static_cast<double>(Ended(harness, second)) / static_cast<double>(ended);
  EXPECT_NEAR(share, 0.75, 0.02);
  RecordProperty("share_of_weight_three", std::to_string(share));
  CheckInvariants(harness.state());
}

TEST(OrchestratorShareTest, SweepThatWasIdleDoesNotHoardCredit) {
  Harness harness(Harness::DefaultOptions(), MemoryFolder());
  const SweepId busy = harness.Submit(SweepOfTrials("busy", 300, 100));
  HandWorker worker("w", 2);
  while (Ended(harness, busy) < 100) Turn(harness, worker);
  // It comes late, and from then on has its half, not all until it has caught up.
  const SweepId late = harness.Submit(SweepOfTrials("late", 300, 200));
  const std::uint64_t before = Ended(harness, busy);
  while (Ended(harness, late) < 50) Turn(harness, worker);
  EXPECT_NEAR(static_cast<double>(Ended(harness, busy) - before), 50, 3);
}

TEST(OrchestratorShareTest, QuotaHoldsForAllSweepsOfAGroupTogetherAndNotForOthers) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.quotas["small"] = 2;
  Harness harness(options, MemoryFolder());
  v1::SweepSpec spec = SweepOfTrials("a", 5, 100);
  spec.set_group("small");
  const SweepId a = harness.Submit(spec);
  spec = SweepOfTrials("b", 5, 200);
  spec.set_group("small");
  spec.set_priority(5);
  const SweepId b = harness.Submit(spec);
  const SweepId free = harness.Submit(SweepOfTrials("free", 3, 300));
  HandWorker worker = harness.Connect("w", 8);
  EXPECT_EQ(Running(harness, b), 2u);
  EXPECT_EQ(Running(harness, a), 0u);
  EXPECT_EQ(Running(harness, free), 3u);
  harness.Restart(worker);
  EXPECT_EQ(Running(harness, a) + Running(harness, b), 2u);
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("group small is at its quota of 2"));
  for (int turn = 0; turn < 20; ++turn) {
    Turn(harness, worker);
    ASSERT_LE(Running(harness, a) + Running(harness, b), 2u);
  }
  EXPECT_EQ(harness.Status(a).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(b).state(), v1::COMPLETE);
}

TEST(OrchestratorShareTest, QuotaHoldsForAllSweepsOfAnOwnerTogetherAlsoAfterARestart) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.callers["alice"].set_max_parallel(2);
  options.callers["*"].set_max_parallel(3);
  Harness harness(options, MemoryFolder());
  harness.SetCaller(Harness::Named("alice"));
  v1::SweepSpec spec = SweepOfTrials("a", 5, 100);
  spec.set_group("elsewhere");  // Another group is no way around it.
  const SweepId a = harness.Submit(spec);
  spec = SweepOfTrials("b", 5, 200);
  spec.set_priority(5);
  const SweepId b = harness.Submit(spec);
  const SweepId bobs = harness.SubmitAs(Harness::Named("bob"), SweepOfTrials("bobs", 5, 300));
  const SweepId roots =
      harness.SubmitAs(Harness::Named("root", /*admin=*/true),
                       SweepOfTrials("roots", 5, 400));  // "*" is for each of the others alone.
  HandWorker worker = harness.Connect("w", 16);
  EXPECT_EQ(Running(harness, b), 2u);
  EXPECT_EQ(Running(harness, a), 0u);
  EXPECT_EQ(Running(harness, bobs), 3u);
  EXPECT_EQ(Running(harness, roots), 3u);
  harness.Restart(worker);
  EXPECT_EQ(Running(harness, a) + Running(harness, b), 2u);
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("the sweeps of alice run 2 attempts, and its max_parallel is 2"));
  for (int turn = 0; turn < 20; ++turn) {
    Turn(harness, worker);
    ASSERT_LE(Running(harness, a) + Running(harness, b), 2u);
    ASSERT_LE(Running(harness, bobs), 3u);
  }
  for (const SweepId sweep : {a, b, bobs, roots}) EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
}

TEST(OrchestratorShareTest, FailureRatioStopsASweepOnceTenTrialsHaveEnded) {
  Harness harness(Harness::DefaultOptions(), MemoryFolder());
  v1::SweepSpec spec = SweepOfTrials("s", 40, 100);
  spec.mutable_retry()->set_max_crashes(1);
  spec.set_stop_after_failure_ratio(0.5);
  const SweepId sweep = harness.Submit(spec);
  HandWorker worker("w", 1);
  for (int failed = 0; failed < 9; ++failed) {
    harness.Sync(worker);
    worker.Emit(OnlyToken(worker), FailureEvent(v1::CRASHED, "signal 11"));
  }
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 9u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  harness.Report(worker, FailureEvent(v1::CRASHED, "signal 11"));
  EXPECT_EQ(harness.Status(sweep).state(), v1::STOPPED_BY_FAILURES);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 30u);
}

}  // namespace
}  // namespace inlier
