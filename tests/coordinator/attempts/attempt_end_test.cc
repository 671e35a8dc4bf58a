#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/state/feature.h"
#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using OrchestratorFailureTest = OneWorkerTest;

TEST_F(OrchestratorFailureTest, LostWorkersTrainingResumesFromItsLatestCheckpoint) {
  sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker lost = harness.Connect("lost");
  lost.Emit(OnlyToken(lost), CheckpointEvent(40, false));
  harness.Report(lost, CheckpointEvent(60, false, 'b'));
  harness.TickAfter(seconds(16) - Duration(1));
  EXPECT_EQ(harness.state().leases.size(), 1u);
  harness.TickAfter(Duration(1));
  EXPECT_EQ(harness.state().leases.size(), 0u);
  EXPECT_EQ(harness.state().stats.failures.at(v1::LOST), 1u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  HandWorker next("next", 1);
  const v1::Assignment assignment = harness.Assigned(next);
  EXPECT_EQ(assignment.attempt(), 2u);
  EXPECT_EQ(assignment.resume_path(), "attempts/st-1/1/step-60.safetensors");
  EXPECT_EQ(assignment.resume_step(), 60u);
  const auto notices = harness.Notices(sweep);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0], StartsWith("attempt 1 LOST: worker worker-lost has been silent"));
  EXPECT_THAT(notices[0], EndsWith(" [train t-1 (seed=1, bits=8)]"));
  EXPECT_THAT(notices[0], HasSubstr("from step 60"));
}

TEST_F(OrchestratorFailureTest, CrashIsTriedAgainAfterAWaitAndThenFailsTheTrial) {
  // Not at once.
  EXPECT_EQ(harness.Report(worker, Lease(), FailureEvent(v1::CRASHED, "signal 11")).desired_size(), 0);
  EXPECT_EQ(NextDeadline(harness.state()), harness.now().at + seconds(1));
  harness.TickAfter(seconds(1));
  harness.Sync(worker);
  harness.Report(worker, FailureEvent(v1::CRASHED, "signal 11"));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  const auto notices = harness.Notices(sweep);
  EXPECT_THAT(
      notices.back(),
      HasSubstr("FAILED, CRASHED: signal 11; crashed, stalled or timed out 2 times (retry.max_crashes = 2)"));
}

TEST_F(OrchestratorFailureTest, WhatFailedOrWasCancelledIsNotCountedAsTrained) {
  const SweepId failing = harness.Submit(SmallSweep("failing", 2, {8, 4}));
  harness.Sync(worker);
  harness.Report(worker, FailureEvent(v1::INVALID_SPEC, "no such corpus"));
  harness.Finish(worker);
  EXPECT_EQ(harness.Status(failing).train_stages().ended(), 1u);
  EXPECT_EQ(harness.CancelSweep(failing), 2u);
  const v1::SweepStatus status = harness.Status(failing);
  EXPECT_EQ(status.trials().failed(), 2u);
  EXPECT_EQ(status.trials().cancelled(), 2u);
  EXPECT_EQ(status.train_stages().ended(), 1u);
  EXPECT_EQ(status.train_stages().total(), 2u);
  EXPECT_EQ(status.evaluate_stages().ended(), 0u);
}

TEST_F(OrchestratorFailureTest, InvalidSpecIsNotTriedAgain) {
  EXPECT_EQ(
      harness
          .Report(worker, Lease(SmallSweep("s", 1, {8, 4})), FailureEvent(v1::INVALID_SPEC, "no corpus kjv"))
          .desired_size(),
      0);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 2u);
}

TEST_F(OrchestratorFailureTest, DivergedTrainingIsAResultOfAllItsTrialsAndNothingIsEvaluated) {
  EXPECT_EQ(harness.Report(worker, Lease(SmallSweep("s", 1, {8, 6, 4})), OutcomeEvent(v1::Outcome::DIVERGED))
                .desired_size(),
            0);
  EXPECT_EQ(harness.Status(sweep).trials().diverged(), 3u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  // A further quantization of the same training is known too.
  EXPECT_EQ(harness.TrySubmit(SmallSweep("more", 1, {2})).value().trials_known(), 1u);
  EXPECT_EQ(harness.RetrySweep(sweep), 0u);
}

TEST_F(OrchestratorFailureTest, SuccessWithoutACheckpointIsACrash) {
  harness.Report(worker, Lease(), OutcomeEvent(v1::Outcome::SUCCEEDED));
  EXPECT_EQ(harness.state().stats.failures.at(v1::CRASHED), 1u);
}

TEST_F(OrchestratorFailureTest, AttemptWithoutProgressIsStalledThoughItsWorkerAnswers) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.stall = seconds(60);
  harness.RestartAs(options);
  const Token token = Lease();
  for (int i = 1; i <= 5; ++i) {
    harness.Advance(seconds(10));
    worker.SetProgress(token, "train", i);
    harness.Sync(worker);
  }
  for (int i = 0; i < 5; ++i) {
    harness.Advance(seconds(10));
    harness.Sync(worker);
    harness.Tick();
  }
  EXPECT_EQ(harness.state().leases.size(), 1u);
  harness.TickAfter(seconds(10));
  EXPECT_EQ(harness.state().stats.failures.at(v1::STALLED), 1u);
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.stop_size(), 1);
  EXPECT_EQ(reply.stop(0).reason(), "stalled");
}

TEST_F(OrchestratorFailureTest, SweepStopsAfterItsNumberOfFailures) {
  v1::SweepSpec spec = SmallSweep("s", 6);
  spec.set_stop_after_failures(2);
  Lease(spec, HandWorker("w", 3));
  const std::vector<Token> tokens = worker.tokens();
  worker.Emit(tokens[0], FailureEvent(v1::INVALID_SPEC, "x"));
  harness.Report(worker, tokens[1], FailureEvent(v1::INVALID_SPEC, "x"));
  const v1::SweepStatus status = harness.Status(sweep);
  EXPECT_EQ(status.state(), v1::STOPPED_BY_FAILURES);
  EXPECT_EQ(status.trials().failed(), 2u);
  EXPECT_EQ(status.trials().running(), 1u);  // Running attempts continue to their end.
  EXPECT_EQ(status.trials().cancelled(), 3u);
  EXPECT_FALSE(IsOver(harness.state(), sweep));
  harness.Finish(worker, tokens[2]);
  harness.Finish(worker);
  EXPECT_TRUE(IsOver(harness.state(), sweep));
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
}

TEST_F(OrchestratorFailureTest, CancelStopsRunningAttemptsAndRepeatingItIsHarmless) {
  Lease(SmallSweep("s", 3));
  EXPECT_EQ(harness.CancelSweep(sweep), 3u);
  EXPECT_EQ(harness.last().workers, (std::set<std::string>{"w"}));
  EXPECT_EQ(harness.CancelSweep(sweep), 0u);
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_EQ(harness.Status(sweep).state(), v1::SWEEP_CANCELLED);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
  EXPECT_TRUE(worker.running().empty());
}

TEST_F(OrchestratorFailureTest, CancelledSweepLeavesAStageThatAnotherSweepNeeds) {
  const SweepId first = harness.Submit(SmallSweep("first", 1));
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  harness.Sync(worker);
  harness.CancelSweep(first);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_EQ(harness.Status(second).trials().running(), 1u);
}

TEST_F(OrchestratorFailureTest, RetryMakesFailedTrialsReadyWithFreshCounts) {
  v1::SweepSpec spec = SmallSweep("s", 1, {8, 4});
  spec.mutable_retry()->set_max_out_of_memory(1);
  harness.Report(worker, Lease(spec), FailureEvent(v1::OUT_OF_MEMORY, "cuda"));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 2u);
  EXPECT_EQ(harness.RetrySweep(sweep), 2u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  harness.Restart(worker);
  EXPECT_EQ(worker.running().begin()->second.attempt(), 2u);
  harness.Finish(worker);
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
}

TEST_F(OrchestratorFailureTest, RetryOfACancelledSweepMakesTheRestOfItsTrialsToo) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 2;
  options.expand_ahead = 2;
  harness.RestartAs(options);
  sweep = harness.Submit(SmallSweep("s", 5));
  EXPECT_EQ(harness.CancelSweep(sweep), 5u);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 5u);
  harness.Restart();
  EXPECT_EQ(harness.RetrySweep(sweep), 5u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 5u);
}

// Found by the simulation: the sweep became ACTIVE with nothing that makes its other trials, and never ended;
// and a restart made them without any request.
TEST_F(OrchestratorFailureTest, RetryOfOneTrialOfACancelledSweepRunsThatTrialAlone) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 2;
  options.expand_ahead = 2;
  harness.RestartAs(options);
  sweep = harness.Submit(SmallSweep("s", 5));
  harness.CancelSweep(sweep);
  EXPECT_EQ(harness.RetryTrial(1), 1u);
  harness.Restart();
  harness.Tick();
  worker = harness.Connect("w", 4);
  EXPECT_EQ(worker.running().size(), 1u);
  EXPECT_FALSE(IsOver(harness.state(), sweep));
  for (int stage = 0; stage < 2; ++stage) {
    harness.Finish(worker);
  }
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 4u);
  EXPECT_TRUE(IsOver(harness.state(), sweep));
}

TEST_F(OrchestratorFailureTest, StageThatFailedForAnotherSweepIsTriedAgainForANewOne) {
  const SweepId first = harness.Submit(SmallSweep("first", 1));
  harness.Sync(worker);
  harness.Report(worker, FailureEvent(v1::INVALID_SPEC, "no corpus"));
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  EXPECT_EQ(harness.Status(first).trials().failed(), 1u);
  EXPECT_EQ(harness.Status(second).trials().pending(), 1u);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
}

}  // namespace
}  // namespace inlier
