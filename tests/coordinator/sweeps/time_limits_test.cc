// Limits of attempts, trials and sweeps on time and on hours of GPUs, and the budgets of owners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct TimeLimitsTest : OneWorkerTest {
  static v1::SweepSpec Limited(const std::string& name, int seeds, double attempt_hours,
                               double trial_hours = 0, double sweep_hours = 0, double gpu_hours = 0) {
    v1::SweepSpec spec = SmallSweep(name, seeds);
    v1::LimitsSpec& limits = *spec.mutable_limits();
    if (attempt_hours > 0) limits.set_attempt_hours(attempt_hours);
    if (trial_hours > 0) limits.set_trial_hours(trial_hours);
    if (sweep_hours > 0) limits.set_sweep_hours(sweep_hours);
    if (gpu_hours > 0) limits.set_gpu_hours(gpu_hours);
    return spec;
  }

  // The worker reports a step once a minute, so that nothing counts as stalled, and takes what it is offered.
  void Run(Duration for_long) {
    const Timestamp end = harness.now().at + for_long;
    while (harness.now().at < end) {
      harness.Advance(std::min<Duration>(seconds(10), end - harness.now().at));
      ++step_;
      for (const auto& [token, assignment] : worker.running())
        worker.SetProgress(token, assignment.kind() == v1::TRAIN_STAGE ? "train" : "evaluate", step_);
      harness.Sync(worker);
      harness.Tick();
      harness.Sync(worker);
    }
  }
  // Of those that it was to stop: they write a checkpoint and stop, as fake_trial does.
  void Stop(Token token, std::uint64_t step) {
    worker.Emit(token, CheckpointEvent(step, false));
    harness.Report(worker, token, FailureEvent(v1::PREEMPTED, "stopped by a signal"));
  }
  // Submits a sweep that needs the training that runs, with data that are found to be the same.
  SweepId Join(const v1::SweepSpec& spec) {
    harness.Report(worker, OnlyToken(worker), StartedEvent(std::string(64, '0')));
    const SweepId joined = harness.Submit(spec);
    CheckData(harness, worker);
    EXPECT_EQ(harness.Status(joined).trials().running(), 1u);
    return joined;
  }
  absl::StatusOr<v1::RetryResponse> Retry(const std::string& sweep, const std::string& trial = "") {
    v1::RetryRequest request;
    if (!sweep.empty()) request.set_sweep(sweep);
    if (!trial.empty()) request.set_trial(trial);
    return harness.Ask(&inlier::Retry, request);
  }

  std::uint64_t step_ = 0;
};

TEST_F(TimeLimitsTest, AnAttemptOverItsTimeStopsWithACheckpointAndTheNextResumesThere) {
  v1::SweepSpec spec = Limited("s", 1, 1);
  spec.mutable_retry()->set_max_crashes(2);
  Lease(spec);
  Run(minutes(59));
  EXPECT_THAT(harness.Query("SELECT token FROM attempt WHERE yields IS NOT NULL"), IsEmpty());
  Run(seconds(50));
  harness.TickAfter(seconds(10));
  const auto reply = harness.TrySync(worker.Sync()).value();
  ASSERT_EQ(reply.stop_size(), 1);
  EXPECT_THAT(reply.stop(0).reason(),
              HasSubstr("it ran for 1 h 00 min, and limits.attempt_hours of s-1 is 1"));
  Stop(1, 40);
  EXPECT_EQ(harness.Query("SELECT outcome, failure, timed_out FROM attempt WHERE token = 1"),
            "FAILED|TIMED_OUT|1\n");
  EXPECT_EQ(harness.Query("SELECT crashes, losses, ran_ms FROM stage WHERE id = 1"), "1|0|3600000\n");
  Run(minutes(2));
  ASSERT_EQ(OnlyToken(worker), 2u);
  EXPECT_EQ(worker.running().at(2).resume_step(), 40u);
  Run(minutes(58));
  EXPECT_THAT(worker.running(), SizeIs(1));
  Run(minutes(2));
  // It was asked to stop, and the worker does not list it any more: two of two.
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(harness.Query("SELECT message FROM trial"),
              AllOf(HasSubstr("TIMED_OUT: it ran for 1 h 00 min"),
                    HasSubstr("inlier edit s-1 --set limits.attempt_hours=HOURS"),
                    HasSubstr("(retry.max_crashes = 2)")));
  EXPECT_THAT(harness.state().workers.Find("w")->devices, IsEmpty()) << "the device is not to blame";
}

TEST_F(TimeLimitsTest, AnAttemptThatEndsInItsTimeIsNotTouched) {
  Lease(Limited("s", 1, 1, 2, 3));
  Run(minutes(59));
  harness.Finish(worker, 1);
  Run(minutes(59));
  harness.Finish(worker, 2);
  Run(hours(3));
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  EXPECT_NEAR(harness.Status(sweep).attempt_hours(), 118.0 / 60, 1e-6);
  EXPECT_EQ(harness.Status(sweep).gpu_hours(), 0);
}

TEST_F(TimeLimitsTest, TheLargestAttemptHoursOfTheSweepsThatNeedTheStageCounts) {
  harness.Submit(Limited("short", 1, 1));
  const SweepId longer = harness.Submit(Limited("longer", 1, 2));
  harness.Sync(worker);
  Run(minutes(90));
  EXPECT_THAT(worker.running(), SizeIs(1));
  harness.CancelSweep(longer);
  harness.Tick();
  EXPECT_THAT(harness.Query("SELECT yields FROM attempt"), HasSubstr("limits.attempt_hours of s-1 is 1"));
}

TEST_F(TimeLimitsTest, NoAttemptHoursCountWhereOneSweepHasNone) {
  Lease(Limited("short", 1, 1));
  EXPECT_THAT(harness.state().deadlines.attempt_limits, SizeIs(1));
  const SweepId unlimited = Join(SmallSweep("unlimited", 1));
  EXPECT_THAT(harness.state().deadlines.attempt_limits, IsEmpty());
  Run(minutes(90));
  harness.CancelSweep(unlimited);
  harness.Tick();
  EXPECT_THAT(harness.Query("SELECT yields FROM attempt"), HasSubstr("limits.attempt_hours of s-1 is 1"));
}

TEST_F(TimeLimitsTest, ARestartInTheMiddleForgetsNoTime) {
  Lease(Limited("s", 1, 1));
  Run(minutes(40));
  harness.Restart();
  harness.Advance(seconds(5));
  harness.Sync(worker);
  Run(minutes(19));
  EXPECT_THAT(harness.Query("SELECT token FROM attempt WHERE yields IS NOT NULL"), IsEmpty());
  Run(seconds(50));
  harness.TickAfter(seconds(10));
  EXPECT_EQ(harness.Query("SELECT token, timed_out FROM attempt WHERE yields IS NOT NULL"), "1|1\n");
  harness.Restart(worker);
  Stop(1, 40);
  EXPECT_EQ(harness.Query("SELECT failure FROM attempt"), "TIMED_OUT\n");
  EXPECT_NEAR(harness.Status(sweep).attempt_hours(), 1, 0.01);
}

TEST_F(TimeLimitsTest, ATrialOverItsTimeFailsWhereSeveralAttemptsTookIt) {
  Lease(Limited("s", 1, 0, 2));
  Run(minutes(90));
  harness.Report(worker, 1, FailureEvent(v1::CRASHED, "once"));
  harness.Restart();
  Run(minutes(29));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 0u);
  Run(minutes(3));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(
      harness.Query("SELECT message FROM trial"),
      AllOf(HasSubstr("longer than limits.trial_hours of s-1, which is 2"), HasSubstr("inlier edit s-1")));
  EXPECT_THAT(worker.running(), IsEmpty());
  EXPECT_EQ(harness.Query("SELECT outcome FROM attempt ORDER BY token"), "FAILED\nCANCELLED\n");
  // A person's retry counts from the beginning.
  ASSERT_TRUE(Retry("", "t-1").ok());
  Run(minutes(110));
  EXPECT_THAT(worker.running(), SizeIs(1));
}

TEST_F(TimeLimitsTest, TheTimeOfATrainingCountsForTheTrialsThatWaitedForIt) {
  Lease(Limited("s", 1, 0, 2));
  Run(minutes(90));
  harness.Finish(worker, 1);
  harness.Restart();
  Run(minutes(29));
  EXPECT_EQ(OnlyToken(worker), 2u);
  Run(minutes(2));
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 1u);
  EXPECT_THAT(worker.running(), IsEmpty());
  // Not for one that is submitted when it is known.
  v1::SweepSpec later = Limited("later", 1, 0, 1);
  *later.mutable_axes(1) = NumberAxis("quantization.weights.bits", {6});
  const SweepId evaluates = harness.Submit(later);
  CheckData(harness, worker);
  harness.Tick();
  harness.Sync(worker);
  Run(minutes(50));
  EXPECT_EQ(harness.Status(evaluates).evaluate_stages().running(), 1u);
}

TEST_F(TimeLimitsTest, ATrialOverItsTimeLeavesTheStageToTheSweepThatHasMore) {
  const SweepId hasty = harness.Submit(Limited("hasty", 1, 0, 1));
  const SweepId patient = harness.Submit(SmallSweep("patient", 1));
  harness.Sync(worker);
  Run(minutes(61));
  EXPECT_EQ(harness.Status(hasty).trials().failed(), 1u);
  EXPECT_EQ(harness.Status(hasty).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(patient).trials().running(), 1u);
  Run(minutes(60));
  EXPECT_NEAR(harness.Status(hasty).attempt_hours(), 1, 0.01) << "it needs the attempt no longer";
  EXPECT_NEAR(harness.Status(patient).attempt_hours(), 121.0 / 60, 0.01);
  harness.Restart();
  EXPECT_NEAR(harness.Status(hasty).attempt_hours(), 1, 0.01);
  EXPECT_NEAR(harness.Status(patient).attempt_hours(), 121.0 / 60, 0.01);
}

TEST_F(TimeLimitsTest, ASweepOverItsTimeIsStoppedAlsoAfterARestartAndAPause) {
  Lease(Limited("s", 3, 0, 0, 2));
  Run(minutes(30));
  ASSERT_TRUE(harness.PauseSweep(sweep).ok());
  Run(minutes(60));
  harness.Restart();
  Run(minutes(29));
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  EXPECT_THAT(harness.Why(sweep), HasSubstr("is stopped after 2 h 00 min (limits.sweep_hours)"));
  Run(minutes(2));
  EXPECT_EQ(harness.Status(sweep).state(), v1::STOPPED_BY_TIME);
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 3u);
  EXPECT_THAT(worker.running(), IsEmpty());
  EXPECT_EQ(harness.Query("SELECT state FROM sweep"), "STOPPED_BY_TIME\n");
  EXPECT_THAT(harness.Query("SELECT message FROM trial WHERE id = 1"),
              AllOf(HasSubstr("limits.sweep_hours is 2"),
                    HasSubstr("inlier edit s-1 --set limits.sweep_hours=HOURS")));
  EXPECT_THAT(harness.Query("SELECT message FROM event WHERE kind = 'sweep_stopped'"),
              HasSubstr("limits.sweep_hours is 2"));
  EXPECT_THAT(harness.Why(sweep), HasSubstr("the time of the sweep is over"));
  harness.Restart();
  EXPECT_EQ(harness.Status(sweep).state(), v1::STOPPED_BY_TIME);
}

TEST_F(TimeLimitsTest, ASweepOverItsLimitIsRetriedOnlyWithALargerOne) {
  v1::SweepSpec spec = Limited("s", 2, 0, 0, 1);
  Lease(spec);
  Run(minutes(61));
  ASSERT_EQ(harness.Status(sweep).state(), v1::STOPPED_BY_TIME);
  for (const auto& refused : {Retry("s-1").status(), Retry("", "t-1").status()})
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("nothing of sweep s-1 can be retried"),
                                        HasSubstr("inlier edit s-1"))));
  spec.mutable_limits()->set_sweep_hours(2);
  ASSERT_TRUE(harness.EditSweep(sweep, spec).ok());
  ASSERT_TRUE(Retry("s-1").ok());
  Run(minutes(50));
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  EXPECT_THAT(worker.running(), SizeIs(1));
  Run(minutes(20));
  EXPECT_EQ(harness.Status(sweep).state(), v1::STOPPED_BY_TIME);
}

TEST_F(TimeLimitsTest, AnEditOfLimitsTakesEffectOnWhatRuns) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  Lease(spec);
  Run(minutes(30));
  spec.mutable_limits()->set_attempt_hours(0.25);
  ASSERT_TRUE(harness.EditSweep(sweep, spec).ok());
  harness.Tick();
  EXPECT_EQ(harness.Query("SELECT count(*) FROM attempt WHERE yields IS NOT NULL"), "1\n");
  spec.mutable_limits()->set_sweep_hours(0.25);
  ASSERT_TRUE(harness.EditSweep(sweep, spec).ok());
  harness.Tick();
  EXPECT_EQ(harness.Status(sweep).state(), v1::STOPPED_BY_TIME);
}

TEST_F(TimeLimitsTest, GpuHoursAreTimeMultipliedByShare) {
  // Two slots share the GPU: half of it each.
  v1::SweepSpec spec = Limited("s", 4, 0, 0, 0, 1.5);
  const SweepId sweep = harness.Submit(spec);
  worker = HandWorker("w", 2);
  worker.ShareGpu(1000);
  harness.Sync(worker);
  EXPECT_THAT(worker.running(), SizeIs(2));
  EXPECT_EQ(harness.Query("SELECT DISTINCT gpu_share_thousandths, gpu_thousandths FROM attempt"), "500|0\n");
  Run(minutes(60));
  EXPECT_NEAR(harness.Status(sweep).gpu_hours(), 1, 1e-6);
  EXPECT_NEAR(harness.Status(sweep).attempt_hours(), 2, 1e-6);
  EXPECT_THAT(harness.Why(sweep),
              HasSubstr("it has used 1 hours of GPUs, and is stopped at 1.5 (limits.gpu_hours)"));
  harness.Restart();
  EXPECT_NEAR(harness.Status(sweep).gpu_hours(), 1, 1e-6);
  Run(minutes(29));
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  Run(minutes(2));
  EXPECT_EQ(harness.Status(sweep).state(), v1::STOPPED_BY_BUDGET);
  EXPECT_THAT(worker.running(), IsEmpty());
  EXPECT_EQ(harness.Status(sweep).trials().cancelled(), 4u);
  EXPECT_THAT(harness.Query("SELECT message FROM trial WHERE id = 1"),
              HasSubstr("and limits.gpu_hours is 1.5"));
  EXPECT_EQ(harness.Query("SELECT round(gpu_hours, 1), round(attempt_hours, 1) FROM sweeps"), "1.5|3.0\n");
  EXPECT_EQ(harness.Query("SELECT DISTINCT gpu FROM attempts"), "0.5\n");
  EXPECT_EQ(Retry("s-1").status().code(), absl::StatusCode::kFailedPrecondition);
  spec.mutable_limits()->set_gpu_hours(2);
  ASSERT_TRUE(harness.EditSweep(sweep, spec).ok());
  ASSERT_TRUE(Retry("s-1").ok());
  Run(minutes(10));
  EXPECT_THAT(worker.running(), SizeIs(2));
}

TEST_F(TimeLimitsTest, OnACpuNoGpuHoursAreUsed) {
  Lease(Limited("s", 1, 0, 0, 0, 0.1));
  Run(hours(5));
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  EXPECT_EQ(harness.Status(sweep).gpu_hours(), 0);
}

TEST_F(TimeLimitsTest, AnAttemptThatSeveralSweepsNeedCountsInEach) {
  const SweepId first = harness.Submit(Limited("first", 1, 0, 0, 0, 1));
  worker.ShareGpu(1000);
  harness.Sync(worker);
  Run(minutes(30));
  const SweepId second = Join(SmallSweep("second", 1));
  Run(minutes(15));
  EXPECT_NEAR(harness.Status(first).gpu_hours(), 0.75, 1e-6);
  EXPECT_NEAR(harness.Status(second).gpu_hours(), 0.25, 1e-6);
  harness.Restart();
  EXPECT_NEAR(harness.Status(second).gpu_hours(), 0.25, 1e-6);
  Run(minutes(16));
  EXPECT_EQ(harness.Status(first).state(), v1::STOPPED_BY_BUDGET);
  EXPECT_THAT(worker.running(), SizeIs(1)) << "the other needs it";
  Run(minutes(30));
  EXPECT_NEAR(harness.Status(first).gpu_hours(), 1, 0.01);
  EXPECT_NEAR(harness.Status(second).gpu_hours(), 46.0 / 60 + 0.25, 0.01);
}

using OwnerBudgetTest = OneWorkerTest;

TEST_F(OwnerBudgetTest, OnceUsedNothingOfTheOwnerStartsAndWhatRunsContinues) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.stall = hours(10);
  options.callers["alice"].set_gpu_hours(1);
  harness.RestartAs(options);
  worker.ShareGpu(1000);
  harness.SubmitAs(Harness::Named("alice"), SmallSweep("one", 1));
  v1::SweepSpec more = SmallSweep("two", 2);
  more.mutable_base()->mutable_training()->set_steps(200);
  const SweepId second = harness.Submit(more);
  harness.Sync(worker);
  const auto pass = [&](Duration for_long) {
    for (Duration passed{0}; passed < for_long; passed += seconds(10)) {
      harness.Advance(seconds(10));
      harness.Sync(worker);
      harness.Tick();
    }
  };
  pass(minutes(50));
  worker.Finish(1);  // Its evaluation begins.
  harness.Sync(worker);
  ASSERT_THAT(worker.running(), SizeIs(1));
  harness.Restart();
  pass(minutes(20));
  EXPECT_THAT(worker.running(), SizeIs(1)) << "what runs continues";
  harness.Finish(worker, 2);
  pass(minutes(1));
  EXPECT_THAT(worker.running(), IsEmpty());
  EXPECT_EQ(harness.Status(second).trials().pending(), 2u);
  EXPECT_THAT(
      harness.Why("t-2"),
      HasSubstr(
          "the sweeps of alice have used 1.17 hours of GPUs, and its gpu_hours is 1; an admin raises it"));
  // Others are not held, and a restart changes nothing.
  harness.Restart();
  pass(minutes(1));
  EXPECT_THAT(worker.running(), IsEmpty());
  harness.SetCaller(Harness::Named("bob"));
  v1::SweepSpec bobs = SmallSweep("bobs", 1);
  bobs.mutable_base()->mutable_training()->set_steps(300);
  const SweepId third = harness.Submit(bobs);
  pass(seconds(20));
  EXPECT_EQ(harness.Status(third).trials().running(), 1u);
}

TEST_F(OwnerBudgetTest, WithABudgetOfNothingNothingStarts) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.callers["*"].set_gpu_hours(0);
  harness.RestartAs(options);
  harness.Sync(worker);
  harness.SubmitAs(Harness::Named("alice"), SmallSweep("one", 1));
  harness.Tick();
  harness.Sync(worker);
  EXPECT_THAT(worker.running(), IsEmpty());
}

}  // namespace
}  // namespace inlier
