#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/decisions/tick.h"
#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> Notices(const Harness& harness, SweepId sweep) {
  std::uint64_t from = 0;
  const v1::SweepUpdate update =
      DescribeSweep(const_cast<Harness&>(harness).orchestrator().state(), sweep, harness.now(), from);
  return {update.notices().begin(), update.notices().end()};
}

TEST(OrchestratorFailureTest, LostWorkersTrainingResumesFromItsLatestCheckpoint) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker lost("lost", 1);
  harness.Sync(lost);
  lost.Emit(OnlyToken(lost), CheckpointEvent(40, false));
  lost.Emit(OnlyToken(lost), CheckpointEvent(60, false, 'b'));
  harness.Sync(lost);
  harness.Advance(seconds(16) - Duration(1));
  harness.Tick();
  EXPECT_EQ(harness.orchestrator().state().leases.size(), 1u);
  harness.Advance(Duration(1));
  harness.Tick();
  EXPECT_EQ(harness.orchestrator().state().leases.size(), 0u);
  EXPECT_EQ(harness.orchestrator().state().stats.failures.at(v1::LOST), 1u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  HandWorker next("next", 1);
  const v1::CoordinatorSync reply = harness.Sync(next);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).attempt(), 2u);
  EXPECT_EQ(reply.desired(0).resume_path(), "attempts/st-1/1/step-60.safetensors");
  EXPECT_EQ(reply.desired(0).resume_step(), 60u);
  const auto notices = Notices(harness, sweep);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0], StartsWith("attempt 1 LOST: worker worker-lost has been silent"));
  EXPECT_THAT(notices[0], EndsWith(" [train t-1 (seed=1, bits=8)]"));
  EXPECT_THAT(notices[0], HasSubstr("from step 60"));
}

TEST(OrchestratorFailureTest, CrashIsTriedAgainAfterAWaitAndThenFailsTheTrial) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), FailureEvent(v1::CRASHED, "signal 11"));
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);  // Not at once.
  EXPECT_EQ(NextDeadline(harness.orchestrator().state()), harness.now().at + seconds(1));
  harness.Advance(seconds(1));
  harness.Tick();
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), FailureEvent(v1::CRASHED, "signal 11"));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  const auto notices = Notices(harness, sweep);
  EXPECT_THAT(
      notices.back(),
      HasSubstr("FAILED, CRASHED: signal 11; crashed, stalled or timed out 2 times (retry.max_crashes = 2)"));
}

TEST(OrchestratorFailureTest, WhatFailedOrWasCancelledIsNotCountedAsTrained) {
  Harness harness;
  const SweepId failing = harness.Submit(SmallSweep("failing", 2, {8, 4}));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), FailureEvent(v1::INVALID_SPEC, "no such corpus"));
  harness.Sync(worker);
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(failing).train_stages().ended(), 1u);
  EXPECT_EQ(harness.CancelSweep(failing), 2u);
  const v1::SweepStatus status = harness.Status(failing);
  EXPECT_EQ(status.trials().failed(), 2u);
  EXPECT_EQ(status.trials().cancelled(), 2u);
  EXPECT_EQ(status.train_stages().ended(), 1u);
  EXPECT_EQ(status.train_stages().total(), 2u);
  EXPECT_EQ(status.evaluate_stages().ended(), 0u);
}

TEST(OrchestratorFailureTest, InvalidSpecIsNotTriedAgain) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1, {8, 4}));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), FailureEvent(v1::INVALID_SPEC, "no corpus kjv"));
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 2u);
}

TEST(OrchestratorFailureTest, DivergedTrainingIsAResultOfAllItsTrialsAndNothingIsEvaluated) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1, {8, 6, 4}));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutcomeEvent(v1::Outcome::DIVERGED));
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
  EXPECT_EQ(harness.Status(sweep).trials().diverged(), 3u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  // A further quantization of the same training is known too.
  const auto more = harness.TrySubmit(SmallSweep("more", 1, {2}));
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->trials_known(), 1u);
  EXPECT_EQ(harness.RetrySweep(sweep), 0u);
}

TEST(OrchestratorFailureTest, SuccessWithoutACheckpointIsACrash) {
  Harness harness;
  harness.Submit(SmallSweep("s", 1));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), OutcomeEvent(v1::Outcome::SUCCEEDED));
  harness.Sync(worker);
  EXPECT_EQ(harness.orchestrator().state().stats.failures.at(v1::CRASHED), 1u);
}

TEST(OrchestratorFailureTest, AttemptWithoutProgressIsStalledThoughItsWorkerAnswers) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.stall = seconds(60);
  Harness harness(options);
  harness.Submit(SmallSweep("s", 1));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
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
  EXPECT_EQ(harness.orchestrator().state().leases.size(), 1u);
  harness.Advance(seconds(10));
  harness.Tick();
  EXPECT_EQ(harness.orchestrator().state().stats.failures.at(v1::STALLED), 1u);
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.stop_size(), 1);
  EXPECT_EQ(reply.stop(0).reason(), "stalled");
}

TEST(OrchestratorFailureTest, SweepStopsAfterItsNumberOfFailures) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 6);
  spec.set_stop_after_failures(2);
  const SweepId sweep = harness.Submit(spec);
  HandWorker worker("w", 3);
  harness.Sync(worker);
  std::vector<Token> tokens;
  for (const auto& [token, assignment] : worker.running()) tokens.push_back(token);
  worker.Emit(tokens[0], FailureEvent(v1::INVALID_SPEC, "x"));
  worker.Emit(tokens[1], FailureEvent(v1::INVALID_SPEC, "x"));
  harness.Sync(worker);
  const v1::SweepStatus status = harness.Status(sweep);
  EXPECT_EQ(status.state(), v1::STOPPED_BY_FAILURES);
  EXPECT_EQ(status.trials().failed(), 2u);
  EXPECT_EQ(status.trials().running(), 1u);  // Running attempts continue to their end.
  EXPECT_EQ(status.trials().cancelled(), 3u);
  EXPECT_FALSE(IsOver(harness.orchestrator().state(), sweep));
  worker.Finish(tokens[2]);
  harness.Sync(worker);
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  EXPECT_TRUE(IsOver(harness.orchestrator().state(), sweep));
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
}

TEST(OrchestratorFailureTest, CancelStopsRunningAttemptsAndRepeatingItIsHarmless) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 3));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  EXPECT_EQ(harness.CancelSweep(sweep), 3u);
  EXPECT_EQ(harness.last().workers, (std::set<std::string>{"w"}));
  EXPECT_EQ(harness.CancelSweep(sweep), 0u);
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_EQ(harness.Status(sweep).state(), v1::SWEEP_CANCELLED);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 0);
  EXPECT_TRUE(worker.running().empty());
}

TEST(OrchestratorFailureTest, CancelledSweepLeavesAStageThatAnotherSweepNeeds) {
  Harness harness;
  const SweepId first = harness.Submit(SmallSweep("first", 1));
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  harness.CancelSweep(first);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  EXPECT_EQ(harness.Status(second).trials().running(), 1u);
}

TEST(OrchestratorFailureTest, RetryMakesFailedTrialsReadyWithFreshCounts) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 1, {8, 4});
  spec.mutable_retry()->set_max_out_of_memory(1);
  const SweepId sweep = harness.Submit(spec);
  HandWorker worker("w", 1);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), FailureEvent(v1::OUT_OF_MEMORY, "cuda"));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 2u);
  EXPECT_EQ(harness.RetrySweep(sweep), 2u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  harness.Restart();
  harness.Sync(worker);
  EXPECT_EQ(worker.running().begin()->second.attempt(), 2u);
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
}

TEST(OrchestratorFailureTest, RetryOfACancelledSweepMakesTheRestOfItsTrialsToo) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 2;
  options.expand_ahead = 2;
  Harness harness(options);
  const SweepId sweep = harness.Submit(SmallSweep("s", 5));
  EXPECT_EQ(harness.CancelSweep(sweep), 5u);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 5u);
  harness.Restart();
  EXPECT_EQ(harness.RetrySweep(sweep), 5u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 5u);
}

// Found by the simulation: the sweep became ACTIVE with nothing that makes its other trials, and never ended;
// and a restart made them without any request.
TEST(OrchestratorFailureTest, RetryOfOneTrialOfACancelledSweepRunsThatTrialAlone) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.expand_at_submit = 2;
  options.expand_ahead = 2;
  Harness harness(options);
  const SweepId sweep = harness.Submit(SmallSweep("s", 5));
  harness.CancelSweep(sweep);
  v1::RetryRequest request;
  request.set_trial("t-1");
  Effects effects;
  const auto response = harness.orchestrator().Change(&Retry, request, harness.now(), effects);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->retried(), 1u);
  harness.Commit(std::move(effects));
  harness.Restart();
  harness.Tick();
  HandWorker worker("w", 4);
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 1u);
  EXPECT_FALSE(IsOver(harness.orchestrator().state(), sweep));
  for (int stage = 0; stage < 2; ++stage) {
    worker.Finish(OnlyToken(worker));
    harness.Sync(worker);
  }
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 4u);
  EXPECT_TRUE(IsOver(harness.orchestrator().state(), sweep));
}

TEST(OrchestratorFailureTest, StageThatFailedForAnotherSweepIsTriedAgainForANewOne) {
  Harness harness;
  const SweepId first = harness.Submit(SmallSweep("first", 1));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  worker.Emit(OnlyToken(worker), FailureEvent(v1::INVALID_SPEC, "no corpus"));
  harness.Sync(worker);
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  EXPECT_EQ(harness.Status(first).trials().failed(), 1u);
  EXPECT_EQ(harness.Status(second).trials().pending(), 1u);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
}

}  // namespace
}  // namespace inlier
