// Pausing, draining, and requests that come twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<v1::DrainWorkerResponse> Drain(Harness& harness, const std::string& worker,
                                              bool resume = false, bool now = false) {
  v1::DrainWorkerRequest request;
  request.set_worker(worker);
  request.set_resume(resume);
  request.set_now(now);
  return harness.Ask(&DrainWorker, request);
}

using OrchestratorPauseTest = OneWorkerTest;

TEST_F(OrchestratorPauseTest, PausedSweepStartsNothingNewAndItsRunningAttemptsContinue) {
  Lease(SmallSweep("s", 3));
  const auto paused = harness.PauseSweep(sweep).value();
  EXPECT_TRUE(paused.changed());
  EXPECT_EQ(paused.running(), 1u);
  EXPECT_EQ(paused.stopping(), 0u);
  EXPECT_EQ(harness.Sync(worker).stop_size(), 0);
  harness.Finish(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
  EXPECT_TRUE(harness.Status(sweep).paused());
  EXPECT_EQ(harness.state().counts.paused_sweeps, 1);
  EXPECT_TRUE(harness.ResumeSweep(sweep));
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 3u);
  EXPECT_EQ(harness.state().counts.paused_sweeps, 0);
}

TEST_F(OrchestratorPauseTest, PausingTwiceAndResumingTwiceChangesNothingMore) {
  sweep = harness.Submit(SmallSweep("s", 1));
  ASSERT_TRUE(harness.PauseSweep(sweep)->changed());
  EXPECT_FALSE(harness.PauseSweep(sweep)->changed());
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_TRUE(harness.ResumeSweep(sweep));
  EXPECT_FALSE(harness.ResumeSweep(sweep));
  EXPECT_TRUE(harness.last().changes.empty());
}

TEST_F(OrchestratorPauseTest, PauseSurvivesARestart) {
  sweep = harness.Submit(SmallSweep("s", 2));
  ASSERT_TRUE(harness.PauseSweep(sweep).ok());
  harness.Restart();
  worker = harness.Connect("w", 2);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_TRUE(harness.Status(sweep).paused());
  EXPECT_TRUE(harness.ResumeSweep(sweep));
  harness.Sync(worker);
  EXPECT_EQ(worker.running().size(), 2u);
}

TEST_F(OrchestratorPauseTest, StageSharedWithAnotherSweepRunsForThatOne) {
  const SweepId paused = harness.Submit(SmallSweep("paused", 1));
  const SweepId other = harness.Submit(SmallSweep("other", 1));
  ASSERT_TRUE(harness.PauseSweep(paused).ok());
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  // Neither does stopping running attempts touch it.
  EXPECT_EQ(harness.PauseSweep(paused, /*now=*/true).value().stopping(), 0u);
  harness.Sync(worker);
  EXPECT_EQ(OnlyToken(worker), token);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(other).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(paused).state(), v1::COMPLETE);  // It shares the result.
}

TEST_F(OrchestratorPauseTest, PauseNowStopsAfterACheckpointAndResumesFromItUncounted) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);  // One loss would fail it.
  const Token token = Lease(spec);
  worker.SetProgress(token, "train", 40);
  const v1::WorkerSync reporting = worker.Sync();
  EXPECT_EQ(harness.PauseSweep(sweep, /*now=*/true)->stopping(), 1u);
  const auto answer = harness.TrySync(reporting).value();
  EXPECT_EQ(answer.desired_size(), 0);
  ASSERT_EQ(answer.stop_size(), 1);
  EXPECT_EQ(answer.stop(0).token(), token);
  EXPECT_EQ(answer.stop(0).reason(), "sweep s-1 is paused");
  EXPECT_EQ(harness.Status(sweep).trials().running(), 1u);  // Until it reports its stop.
  worker.Emit(token, CheckpointEvent(41, false));
  harness.Report(worker, token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  EXPECT_TRUE(worker.running().empty());
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  // PREEMPTED, not FAILED.
  EXPECT_EQ(harness.state().stats.attempts_ended[0], (std::array<std::uint64_t, 5>{0, 0, 0, 0, 1}));
  EXPECT_TRUE(harness.ResumeSweep(sweep));
  const v1::Assignment assignment = harness.Assigned(worker);
  EXPECT_EQ(assignment.resume_step(), 41u);
  EXPECT_GT(assignment.token(), token);
  EXPECT_EQ(harness.state().stats.retries, 0u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_THAT(
      harness.Notices(sweep),
      ElementsAre("the sweep is paused: no new attempts start",
                  HasSubstr("PREEMPTED: sweep s-1 is paused; resumes from step 41"), "the sweep is resumed"));
}

TEST_F(OrchestratorPauseTest, TheWorkThatACheckpointKeepsStaysDone) {
  sweep = harness.Submit(SmallSweep("s", 1));  // 100 steps and an evaluation that counts as 10.
  const auto done = [&] { return harness.Describe(sweep).work_done(); };
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  ASSERT_TRUE(harness.PauseSweep(sweep, /*now=*/true).ok());
  worker.Emit(token, CheckpointEvent(44, false));
  harness.Report(worker, token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  EXPECT_NEAR(done(), 0.4, 1e-9);
  harness.Restart();
  EXPECT_NEAR(done(), 0.4, 1e-9);
  EXPECT_TRUE(harness.ResumeSweep(sweep));
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 1u);
  EXPECT_NEAR(done(), 0.4, 1e-9);  // Before the first progress of the next attempt, too.
  RunAll(harness, worker);
  EXPECT_EQ(done(), 1);
}

TEST_F(OrchestratorPauseTest, AttemptThatYieldsIsRememberedOverARestart) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);
  const Token token = Lease(spec);
  const v1::WorkerSync reporting = worker.Sync();
  ASSERT_TRUE(harness.PauseSweep(sweep, /*now=*/true).ok());
  harness.Restart();
  const auto answer = harness.TrySync(reporting).value();
  EXPECT_EQ(answer.desired_size(), 0);
  ASSERT_EQ(answer.stop_size(), 1);
  harness.Report(worker, token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
}

TEST_F(OrchestratorPauseTest, AttemptThatFinishesInsteadOfYieldingKeepsItsResult) {
  const Token token = Lease();
  ASSERT_TRUE(harness.PauseSweep(sweep, /*now=*/true).ok());
  harness.Finish(worker, token);
  EXPECT_EQ(harness.Status(sweep).train_stages().ended(), 1u);
}

TEST_F(OrchestratorPauseTest, YieldOfAnAttemptUnknownToTheWorkerEndsAtItsNextSync) {
  sweep = harness.Submit(SmallSweep("s", 1));
  ASSERT_TRUE(harness.TrySync(worker.Sync()).ok());  // The reply with the lease is lost.
  ASSERT_EQ(harness.PauseSweep(sweep, /*now=*/true)->stopping(), 1u);
  harness.Sync(worker);
  EXPECT_EQ(harness.state().leases.size(), 0u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
}

TEST_F(OrchestratorPauseTest, YieldThatNeverEndsIsGivenUp) {
  const Token token = Lease();
  ASSERT_TRUE(harness.PauseSweep(sweep, /*now=*/true).ok());
  for (int i = 0; i < 70; ++i) {
    harness.Advance(seconds(10));
    worker.SetProgress(token, "train", static_cast<std::uint64_t>(i + 1));  // It does not stop.
    ASSERT_TRUE(harness.TrySync(worker.Sync()).ok());
    harness.Tick();
  }
  EXPECT_EQ(harness.state().leases.size(), 0u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
}

TEST_F(OrchestratorPauseTest, EndedSweepCannotBePaused) {
  sweep = harness.Submit(SmallSweep("s", 1));
  harness.CancelSweep(sweep);
  EXPECT_THAT(harness.PauseSweep(sweep),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has ended")));
}

using OrchestratorDrainTest = OneWorkerTest;

TEST_F(OrchestratorDrainTest, DrainedWorkerFinishesItsAttemptsAndGetsNothingNewUntilItIsResumed) {
  Lease(SmallSweep("s", 3));
  const auto drained = Drain(harness, "worker-w").value();  // By its name.
  EXPECT_EQ(drained.incarnation(), "w");
  EXPECT_EQ(drained.running(), 1u);
  EXPECT_TRUE(ListWorkers(harness.state()).workers(0).held());
  harness.Finish(worker);
  EXPECT_TRUE(worker.running().empty());
  harness.Restart(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_TRUE(ListWorkers(harness.state()).workers(0).draining());
  EXPECT_TRUE(Drain(harness, "w", /*resume=*/true).value().changed());  // By its incarnation.
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 3u);
}

ClusterView DrainJobs(Harness& harness, const JobDrain& drain) {
  Effects effects;
  ClusterView view = harness.orchestrator().OnJobDrain(drain, harness.now(), effects);
  harness.Commit(std::move(effects));
  return view;
}

TEST_F(OrchestratorDrainTest, AWorkerInADrainedJobGetsNothingNewAlsoWhereItComesLaterUntilTheDrainEnds) {
  sweep = harness.Submit(SmallSweep("s", 4));
  EXPECT_EQ(DrainJobs(harness, {}).backlog.begin()->second, 4u);
  HandWorker later("later", 1);
  worker.fields().set_job("17");
  later.fields().set_job("18");
  harness.Sync(worker);
  DrainJobs(harness, {.jobs = {"17", "18"}});
  harness.Sync(later);
  EXPECT_TRUE(later.running().empty());
  harness.Finish(worker);
  EXPECT_TRUE(worker.running().empty());
  EXPECT_THAT(harness.Why(sweep), HasSubstr("worker worker-w is given back to the cluster with its job"));
  const ClusterView view = DrainJobs(harness, {.jobs = {"17"}});
  ASSERT_EQ(view.workers.size(), 2u);
  harness.Sync(worker);
  EXPECT_TRUE(worker.running().empty());
  harness.Sync(later);
  EXPECT_EQ(later.running().size(), 1u);
  EXPECT_EQ(DrainJobs(harness, {.jobs = {"18"}, .yield = "the fleet is stopped"}).workers.size(), 2u);
  EXPECT_EQ(harness.Sync(later).stop_size(), 1);
}

TEST_F(OrchestratorDrainTest, AViewHasWhatWaitsForTheDataOfASweepAndWhoReadsThem) {
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

TEST_F(OrchestratorDrainTest, DrainNowMovesTheAttemptToAnotherWorkerFromItsCheckpoint) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_losses(1);
  sweep = harness.Submit(spec);
  HandWorker leaving = harness.Connect("leaving");
  const Token token = OnlyToken(leaving);
  EXPECT_EQ(Drain(harness, "leaving", false, /*now=*/true)->stopping(), 1u);
  leaving.Emit(token, CheckpointEvent(30, false));
  harness.Report(leaving, token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  EXPECT_TRUE(leaving.running().empty());
  HandWorker other("other", 1);
  EXPECT_EQ(harness.Assigned(other).resume_step(), 30u);
  RunAll(harness, other);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  const auto& failures = harness.state().stats.failures;
  EXPECT_EQ(failures.at(v1::PREEMPTED), 1u);
  EXPECT_FALSE(failures.contains(v1::CRASHED));
}

TEST_F(OrchestratorDrainTest, NameOfTwoWorkersAndUnknownNamesAreRefusedWithTheRemedy) {
  HandWorker first("first", 1), second("second", 1);
  first.fields().set_name("same");
  second.fields().set_name("same");
  harness.Sync(first);
  harness.Sync(second);
  EXPECT_THAT(Drain(harness, "same"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                               HasSubstr("by its incarnation: first, second")));
  EXPECT_EQ(Drain(harness, "nobody").status().code(), absl::StatusCode::kNotFound);
}

using OrchestratorRequestTest = OneWorkerTest;

TEST_F(OrchestratorRequestTest, RepeatedRequestGivesTheFirstAnswerAlsoAfterARestart) {
  sweep = harness.Submit(SmallSweep("s", 2));
  auto cancel = OfSweep<v1::CancelRequest>(sweep);
  cancel.set_request_id("id-1");
  const auto first = harness.Ask(&Cancel, cancel).value();
  EXPECT_EQ(first.cancelled(), 2u);
  auto retry = OfSweep<v1::RetryRequest>(sweep);
  retry.set_request_id("id-2");
  ASSERT_EQ(harness.Ask(&Retry, retry)->retried(), 2u);
  harness.Restart();
  // The trials are open again: the repeated cancel must not touch them.
  EXPECT_EQ(harness.Ask(&Cancel, cancel).value().SerializeAsString(), first.SerializeAsString());
  EXPECT_TRUE(harness.last().changes.empty());
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 2u);
}

TEST_F(OrchestratorRequestTest, RequestIdWithOtherContentIsRefused) {
  const SweepId first = harness.Submit(SmallSweep("first", 1));
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  ASSERT_TRUE(harness.PauseSweep(first, false, "id").ok());
  EXPECT_THAT(harness.PauseSweep(second, false, "id"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("a PauseSweep with other content")));
  auto resume = OfSweep<v1::ResumeSweepRequest>(first);
  resume.set_request_id("id");
  EXPECT_EQ(harness.Ask(&ResumeSweep, resume).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(harness.TrySubmit(SmallSweep("third", 1), "id").status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(harness.Status(second).paused());
}

TEST_F(OrchestratorRequestTest, IdOfASubmissionCannotBeUsedForAnotherCall) {
  ASSERT_TRUE(harness.TrySubmit(SmallSweep("s", 1), "id").ok());
  EXPECT_EQ(harness.PauseSweep(SweepId(1), false, "id").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(OrchestratorRequestTest, RefusedRequestIsNotRemembered) {
  auto request = OfSweep<v1::PauseSweepRequest>("later");
  request.set_request_id("id");
  EXPECT_EQ(harness.Ask(&PauseSweep, request).status().code(), absl::StatusCode::kNotFound);
  harness.Submit(SmallSweep("later", 1));
  EXPECT_TRUE(harness.Ask(&PauseSweep, request).ok());
}

using OrchestratorNoticeTest = OneWorkerTest;

TEST_F(OrchestratorNoticeTest, NoticesAreNumberedOverRestarts) {
  sweep = harness.Submit(SmallSweep("s", 1));
  ASSERT_TRUE(harness.PauseSweep(sweep).ok());
  EXPECT_EQ(harness.Describe(sweep).sequence(), 1u);
  harness.Restart();
  EXPECT_EQ(harness.state().sweeps.at(sweep).notice_log.last, 1u);
  // It is in the database.
  EXPECT_EQ(harness.state().sweeps.at(sweep).notice_log.Forgotten(), 1u);
  ASSERT_TRUE(harness.ResumeSweep(sweep));
  const v1::SweepUpdate update = harness.Describe(sweep, 1);
  EXPECT_EQ(update.sequence(), 2u);
  EXPECT_THAT(update.notices(), ElementsAre("the sweep is resumed"));
}

using OrchestratorWhyTest = OneWorkerTest;

TEST_F(OrchestratorWhyTest, WaitingTrialNamesEverythingThatHoldsIt) {
  v1::SweepSpec spec = SmallSweep("s", 2);
  spec.set_max_parallel(1);
  sweep = harness.Submit(spec);
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("no worker is connected"));
  EXPECT_EQ(harness.Status(sweep).warnings_size(), 1);
  harness.Sync(worker);
  const Token token = OnlyToken(worker);
  worker.SetProgress(token, "train", 40);
  harness.Sync(worker);
  harness.Advance(seconds(3));
  EXPECT_THAT(harness.Why("t-1"),
              HasSubstr("runs on worker worker-w, slot 0: train 40/100, last progress 3"));
  worker.SetTrouble(token, "uploading, try 7", "the bucket is not there");
  harness.Sync(worker);
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("slot 0: uploading, try 7, last progress"));
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("the bucket is not there"));
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("sweep s-1 is at its max_parallel of 1"));
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("st-1 of t-1 runs"));
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("the only slot is busy"));
  ASSERT_TRUE(harness.PauseSweep(sweep).ok());
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("sweep s-1 is paused (inlier resume s-1)"));
  ASSERT_TRUE(Drain(harness, "w").ok());
  EXPECT_THAT(harness.Why("t-2"), HasSubstr("worker worker-w is drained"));
  harness.Report(worker, token, FailureEvent(v1::CRASHED, "signal 11"));
  EXPECT_THAT(harness.Why("t-1"), HasSubstr("after CRASHED: signal 11"));
}

}  // namespace
}  // namespace inlier
