// Pausing, draining, and requests that come twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "coordinator/status/explain.h"
#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<v1::PauseSweepResponse> Pause(Harness& harness, SweepId sweep, bool now = false,
                                             const std::string& request_id = "") {
  v1::PauseSweepRequest request;
  request.set_sweep(sweep.ToString());
  request.set_now(now);
  request.set_request_id(request_id);
  return harness.Ask(&PauseSweep, request);
}

bool Resume(Harness& harness, SweepId sweep) {
  v1::ResumeSweepRequest request;
  request.set_sweep(sweep.ToString());
  const auto response = harness.Ask(&ResumeSweep, request);
  EXPECT_TRUE(response.ok()) << response.status();
  return response.ok() && response->changed();
}

absl::StatusOr<v1::DrainWorkerResponse> Drain(Harness& harness, const std::string& worker,
                                              bool resume = false, bool now = false) {
  v1::DrainWorkerRequest request;
  request.set_worker(worker);
  request.set_resume(resume);
  request.set_now(now);
  return harness.Ask(&DrainWorker, request);
}

std::vector<std::string> NoticesOf(Harness& harness, SweepId sweep) {
  const v1::SweepUpdate update = DescribeSweep(harness.orchestrator().state(), sweep, harness.now(), 0);
  return {update.notices().begin(), update.notices().end()};
}

TEST(OrchestratorPauseTest, PausedSweepStartsNothingNewAndItsRunningAttemptsContinue) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 3));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const auto paused = Pause(harness, sweep);
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_TRUE(paused->changed());
  EXPECT_EQ(paused->running(), 1u);
  EXPECT_EQ(paused->stopping(), 0u);
  EXPECT_EQ(harness.Sync(worker).stop_size(), 0);
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
  EXPECT_TRUE(harness.Status(sweep).paused());
  EXPECT_EQ(harness.orchestrator().state().counts.paused_sweeps, 1);
  EXPECT_TRUE(Resume(harness, sweep));
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 3u);
  EXPECT_EQ(harness.orchestrator().state().counts.paused_sweeps, 0);
}

TEST(OrchestratorPauseTest, PausingTwiceAndResumingTwiceChangesNothingMore) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  ASSERT_TRUE(Pause(harness, sweep)->changed());
  EXPECT_FALSE(Pause(harness, sweep)->changed());
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_TRUE(Resume(harness, sweep));
  EXPECT_FALSE(Resume(harness, sweep));
  EXPECT_TRUE(harness.last().changes.empty());
}

TEST(OrchestratorPauseTest, PauseSurvivesARestart) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 2));
  ASSERT_TRUE(Pause(harness, sweep).ok());
  harness.Restart();
  HandWorker worker("w", 2);
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_TRUE(harness.Status(sweep).paused());
  EXPECT_TRUE(Resume(harness, sweep));
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 2u);
}

TEST(OrchestratorPauseTest, StageSharedWithAnotherSweepRunsForThatOne) {
  Harness harness;
  const SweepId paused = harness.Submit(SmallSweep("paused", 1));
  const SweepId other = harness.Submit(SmallSweep("other", 1));
  ASSERT_TRUE(Pause(harness, paused).ok());
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  // Neither does stopping running attempts touch it.
  const auto now = Pause(harness, paused, /*now=*/true);
  ASSERT_TRUE(now.ok());
  EXPECT_EQ(now->stopping(), 0u);
  harness.Sync(worker);
  EXPECT_EQ(OnlyToken(worker), token);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(other).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(paused).state(), v1::COMPLETE);  // It shares the result.
}

TEST(OrchestratorPauseTest, PauseNowStopsAfterACheckpointAndResumesFromItUncounted) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);  // One loss would fail it.
  const SweepId sweep = harness.Submit(spec);
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  worker.SetProgress(token, "train", 40);
  const v1::WorkerSync reporting = worker.Sync();
  EXPECT_EQ(Pause(harness, sweep, /*now=*/true)->stopping(), 1u);
  const auto answer = harness.TrySync(reporting);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->desired_size(), 0);
  ASSERT_EQ(answer->stop_size(), 1);
  EXPECT_EQ(answer->stop(0).token(), token);
  EXPECT_EQ(answer->stop(0).reason(), "sweep s-1 is paused");
  EXPECT_EQ(harness.Status(sweep).trials().running(), 1u);  // Until it reports its stop.
  worker.Emit(token, CheckpointEvent(41, false));
  worker.Emit(token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  EXPECT_EQ(harness.orchestrator().state().stats.attempts_ended[0],
            (std::array<std::uint64_t, 5>{0, 0, 0, 0, 1}));  // PREEMPTED, not FAILED.
  EXPECT_TRUE(Resume(harness, sweep));
  const v1::CoordinatorSync reply = harness.Sync(worker);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).resume_step(), 41u);
  EXPECT_GT(reply.desired(0).token(), token);
  EXPECT_EQ(harness.orchestrator().state().stats.retries, 0u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_THAT(
      NoticesOf(harness, sweep),
      ElementsAre("the sweep is paused: no new attempts start",
                  HasSubstr("PREEMPTED: sweep s-1 is paused; resumes from step 41"), "the sweep is resumed"));
}

TEST(OrchestratorPauseTest, TheWorkThatACheckpointKeepsStaysDone) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));  // 100 steps and an evaluation that counts as 10.
  const auto done = [&] {
    return DescribeSweep(harness.orchestrator().state(), sweep, harness.now(), 0).work_done();
  };
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  ASSERT_TRUE(Pause(harness, sweep, /*now=*/true).ok());
  worker.Emit(token, CheckpointEvent(44, false));
  worker.Emit(token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  harness.Sync(worker);
  EXPECT_NEAR(done(), 0.4, 1e-9);
  harness.Restart();
  EXPECT_NEAR(done(), 0.4, 1e-9);
  EXPECT_TRUE(Resume(harness, sweep));
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 1u);
  EXPECT_NEAR(done(), 0.4, 1e-9);  // Before the first progress of the next attempt, too.
  RunAll(harness, worker);
  EXPECT_EQ(done(), 1);
}

TEST(OrchestratorPauseTest, AttemptThatYieldsIsRememberedOverARestart) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);
  const SweepId sweep = harness.Submit(spec);
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  const v1::WorkerSync reporting = worker.Sync();
  ASSERT_TRUE(Pause(harness, sweep, /*now=*/true).ok());
  harness.Restart();
  const auto answer = harness.TrySync(reporting);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->desired_size(), 0);
  ASSERT_EQ(answer->stop_size(), 1);
  worker.Emit(token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
}

TEST(OrchestratorPauseTest, AttemptThatFinishesInsteadOfYieldingKeepsItsResult) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  ASSERT_TRUE(Pause(harness, sweep, /*now=*/true).ok());
  worker.Finish(token);
  harness.Sync(worker);
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
}

TEST(OrchestratorPauseTest, YieldOfAnAttemptUnknownToTheWorkerEndsAtItsNextSync) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker worker("w", 1);
  ASSERT_TRUE(harness.TrySync(worker.Sync()).ok());  // The reply with the lease is lost.
  ASSERT_EQ(Pause(harness, sweep, /*now=*/true)->stopping(), 1u);
  harness.Sync(worker);
  EXPECT_EQ(harness.orchestrator().state().leases.size(), 0u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
}

TEST(OrchestratorPauseTest, YieldThatNeverEndsIsGivenUp) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  ASSERT_TRUE(Pause(harness, sweep, /*now=*/true).ok());
  for (int i = 0; i < 70; ++i) {
    harness.Advance(seconds(10));
    worker.SetProgress(token, "train", static_cast<std::uint64_t>(i + 1));  // It does not stop.
    ASSERT_TRUE(harness.TrySync(worker.Sync()).ok());
    harness.Tick();
  }
  EXPECT_EQ(harness.orchestrator().state().leases.size(), 0u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
}

TEST(OrchestratorPauseTest, EndedSweepCannotBePaused) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  harness.CancelSweep(sweep);
  const auto paused = Pause(harness, sweep);
  EXPECT_EQ(paused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(paused.status().message()), HasSubstr("has ended"));
}

TEST(OrchestratorDrainTest, DrainedWorkerFinishesItsAttemptsAndGetsNothingNewUntilItIsResumed) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 3));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const auto drained = Drain(harness, "worker-w");  // By its name.
  ASSERT_TRUE(drained.ok()) << drained.status();
  EXPECT_EQ(drained->incarnation(), "w");
  EXPECT_EQ(drained->running(), 1u);
  EXPECT_TRUE(ListWorkers(harness.orchestrator().state()).workers(0).held());
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  harness.Restart();
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_TRUE(ListWorkers(harness.orchestrator().state()).workers(0).draining());
  const auto resumed = Drain(harness, "w", /*resume=*/true);  // By its incarnation.
  ASSERT_TRUE(resumed.ok());
  EXPECT_TRUE(resumed->changed());
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 3u);
}

ClusterView DrainJobs(Harness& harness, const JobDrain& drain) {
  Effects effects;
  ClusterView view = harness.orchestrator().OnJobDrain(drain, harness.now(), effects);
  harness.Commit(std::move(effects));
  return view;
}

TEST(OrchestratorDrainTest, AWorkerInADrainedJobGetsNothingNewAlsoWhereItComesLaterUntilTheDrainEnds) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 4));
  EXPECT_EQ(DrainJobs(harness, {}).backlog.begin()->second, 4u);
  HandWorker worker("w", 1), later("later", 1);
  worker.fields().set_job("17");
  later.fields().set_job("18");
  harness.Sync(worker);
  DrainJobs(harness, {.jobs = {"17", "18"}});
  harness.Sync(later);
  EXPECT_TRUE(later.running().empty());
  worker.Finish(OnlyToken(worker));
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  v1::ExplainRequest request;
  request.set_sweep(sweep.ToString());
  EXPECT_THAT(Explain(harness.orchestrator().state(), request, harness.now())->DebugString(),
              HasSubstr("worker worker-w is given back to the cluster with its job"));
  const ClusterView view = DrainJobs(harness, {.jobs = {"17"}});
  ASSERT_EQ(view.workers.size(), 2u);
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  harness.Sync(later);
  EXPECT_EQ(later.running().size(), 1u);
  EXPECT_EQ(DrainJobs(harness, {.jobs = {"18"}, .yield = "the fleet is stopped"}).workers.size(), 2u);
  EXPECT_EQ(harness.Sync(later).stop_size(), 1);
}

TEST(OrchestratorDrainTest, AViewHasWhatWaitsForTheDataOfASweepAndWhoReadsThem) {
  Harness harness;
  HandWorker worker("w", 1);
  worker.fields().set_job("17");
  harness.Submit(SmallSweep("one", 1));
  RunAll(harness, worker);
  worker.fields().set_draining(true);
  harness.Sync(worker);
  harness.Submit(SmallSweep("again", 1));
  EXPECT_TRUE(DrainJobs(harness, {}).data_wait);
  EXPECT_TRUE(DrainJobs(harness, {}).workers.at(0).draining);
  worker.fields().set_draining(false);
  harness.Sync(worker);
  const ClusterView view = DrainJobs(harness, {});
  EXPECT_FALSE(view.data_wait);
  EXPECT_TRUE(view.workers.at(0).reads_data);
  EXPECT_EQ(view.workers.at(0).attempts, 0u);
  EXPECT_EQ(view.workers.at(0).slots.size(), 1u);
}

TEST(OrchestratorDrainTest, DrainNowMovesTheAttemptToAnotherWorkerFromItsCheckpoint) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);
  const SweepId sweep = harness.Submit(spec);
  HandWorker leaving("leaving", 1);
  harness.Sync(leaving);
  const Token token = OnlyToken(leaving);
  EXPECT_EQ(Drain(harness, "leaving", false, /*now=*/true)->stopping(), 1u);
  leaving.Emit(token, CheckpointEvent(30, false));
  leaving.Emit(token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  harness.Sync(leaving);
  EXPECT_TRUE(leaving.running().empty());
  HandWorker other("other", 1);
  const v1::CoordinatorSync reply = harness.Sync(other);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).resume_step(), 30u);
  RunAll(harness, other);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  const auto& failures = harness.orchestrator().state().stats.failures;
  EXPECT_EQ(failures.at(v1::PREEMPTED), 1u);
  EXPECT_FALSE(failures.contains(v1::CRASHED));
}

TEST(OrchestratorDrainTest, NameOfTwoWorkersAndUnknownNamesAreRefusedWithTheRemedy) {
  Harness harness;
  HandWorker first("first", 1), second("second", 1);
  first.fields().set_name("same");
  second.fields().set_name("same");
  harness.Sync(first);
  harness.Sync(second);
  const auto twice = Drain(harness, "same");
  EXPECT_EQ(twice.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr("by its incarnation: first, second"));
  EXPECT_EQ(Drain(harness, "nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST(OrchestratorRequestTest, RepeatedRequestGivesTheFirstAnswerAlsoAfterARestart) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 2));
  v1::CancelRequest cancel;
  cancel.set_sweep(sweep.ToString());
  cancel.set_request_id("id-1");
  const auto first = harness.Ask(&Cancel, cancel);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->cancelled(), 2u);
  v1::RetryRequest retry;
  retry.set_sweep(sweep.ToString());
  retry.set_request_id("id-2");
  ASSERT_EQ(harness.Ask(&Retry, retry)->retried(), 2u);
  harness.Restart();
  // The trials are open again: the repeated cancel must not touch them.
  const auto again = harness.Ask(&Cancel, cancel);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 2u);
}

TEST(OrchestratorRequestTest, RequestIdWithOtherContentIsRefused) {
  Harness harness;
  const SweepId first = harness.Submit(SmallSweep("first", 1));
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  ASSERT_TRUE(Pause(harness, first, false, "id").ok());
  const auto other = Pause(harness, second, false, "id");
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("a PauseSweep with other content"));
  v1::ResumeSweepRequest resume;
  resume.set_sweep(first.ToString());
  resume.set_request_id("id");
  EXPECT_EQ(harness.Ask(&ResumeSweep, resume).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(harness.TrySubmit(SmallSweep("third", 1), "id").status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(harness.Status(second).paused());
}

TEST(OrchestratorRequestTest, IdOfASubmissionCannotBeUsedForAnotherCall) {
  Harness harness;
  ASSERT_TRUE(harness.TrySubmit(SmallSweep("s", 1), "id").ok());
  EXPECT_EQ(Pause(harness, SweepId(1), false, "id").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST(OrchestratorRequestTest, RefusedRequestIsNotRemembered) {
  Harness harness;
  v1::PauseSweepRequest request;
  request.set_sweep("later");
  request.set_request_id("id");
  EXPECT_EQ(harness.Ask(&PauseSweep, request).status().code(), absl::StatusCode::kNotFound);
  harness.Submit(SmallSweep("later", 1));
  EXPECT_TRUE(harness.Ask(&PauseSweep, request).ok());
}

TEST(OrchestratorNoticeTest, NoticesAreNumberedOverRestarts) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 1));
  ASSERT_TRUE(Pause(harness, sweep).ok());
  EXPECT_EQ(DescribeSweep(harness.orchestrator().state(), sweep, harness.now(), 0).sequence(), 1u);
  harness.Restart();
  EXPECT_EQ(harness.orchestrator().state().sweeps.at(sweep).notice_log.last, 1u);
  EXPECT_EQ(harness.orchestrator().state().sweeps.at(sweep).notice_log.Forgotten(),
            1u);  // It is in the database.
  ASSERT_TRUE(Resume(harness, sweep));
  const v1::SweepUpdate update = DescribeSweep(harness.orchestrator().state(), sweep, harness.now(), 1);
  EXPECT_EQ(update.sequence(), 2u);
  EXPECT_THAT(update.notices(), ElementsAre("the sweep is resumed"));
}

TEST(OrchestratorWhyTest, WaitingTrialNamesEverythingThatHoldsIt) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 2);
  spec.set_max_parallel(1);
  const SweepId sweep = harness.Submit(spec);
  const auto why = [&](const std::string& trial) {
    v1::ExplainRequest request;
    request.set_trial(trial);
    const auto explanation = Explain(harness.orchestrator().state(), request, harness.now());
    EXPECT_TRUE(explanation.ok()) << explanation.status();
    return explanation->ShortDebugString();
  };
  EXPECT_THAT(why("t-2"), HasSubstr("no worker is connected"));
  EXPECT_EQ(harness.Status(sweep).warnings_size(), 1);
  HandWorker worker("w", 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  worker.SetProgress(token, "train", 40);
  harness.Sync(worker);
  harness.Advance(seconds(3));
  EXPECT_THAT(why("t-1"), HasSubstr("runs on worker worker-w, slot 0: train 40/100, last progress 3"));
  worker.SetTrouble(token, "uploading, try 7", "the bucket is not there");
  harness.Sync(worker);
  EXPECT_THAT(why("t-1"), HasSubstr("slot 0: uploading, try 7, last progress"));
  EXPECT_THAT(why("t-1"), HasSubstr("the bucket is not there"));
  EXPECT_THAT(why("t-2"), HasSubstr("sweep s-1 is at its max_parallel of 1"));
  EXPECT_THAT(why("t-2"), HasSubstr("st-1 of t-1 runs"));
  EXPECT_THAT(why("t-2"), HasSubstr("the only slot is busy"));
  ASSERT_TRUE(Pause(harness, sweep).ok());
  EXPECT_THAT(why("t-2"), HasSubstr("sweep s-1 is paused (inlier resume s-1)"));
  ASSERT_TRUE(Drain(harness, "w").ok());
  EXPECT_THAT(why("t-2"), HasSubstr("worker worker-w is drained"));
  worker.Emit(token, FailureEvent(v1::CRASHED, "signal 11"));
  harness.Sync(worker);
  EXPECT_THAT(why("t-1"), HasSubstr("after CRASHED: signal 11"));
}

}  // namespace
}  // namespace inlier
