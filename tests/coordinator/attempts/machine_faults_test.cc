// Faults of a machine and not of a trial: a program that cannot be started, a damaged checkpoint, a coordinator that
// was stopped, a clock that was set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/status/status.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

v1::TrialEvent NotStartedEvent() {
  v1::TrialEvent event =
      FailureEvent(v1::PREEMPTED, "cannot execute inlier-trial: No such file or directory");
  event.mutable_outcome()->set_not_started(true);
  return event;
}

using MachineFaultsTest = OneWorkerTest;

TEST_F(MachineFaultsTest, ATrialThatAMachineCannotStartIsNotCountedAndOthersGetIt) {
  v1::SweepSpec spec = SmallSweep("s", 1);
  spec.mutable_retry()->set_max_crashes(0);
  spec.mutable_retry()->set_max_losses(0);
  sweep = harness.Submit(spec);
  HandWorker broken = harness.Connect("broken");
  for (int i = 0; i < 50; ++i) {  // It has not noticed yet that it can start nothing.
    harness.Report(broken, NotStartedEvent());
  }
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 0u);
  broken.fields().set_trouble("cannot execute inlier-trial");
  EXPECT_EQ(harness.Report(broken, NotStartedEvent()).desired_size(), 0);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 1u);
  EXPECT_THAT(harness.Why("t-1"),
              HasSubstr("worker worker-broken can start no trial: cannot execute inlier-trial; it "
                        "gets work when it can"));
  const v1::ListWorkersResponse workers = ListWorkers(harness.state(), {});
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_EQ(workers.workers(0).trouble(), "cannot execute inlier-trial");

  HandWorker sound("sound", 1);
  EXPECT_EQ(harness.Sync(sound).desired_size(), 1);
  sound.Finish(OnlyToken(sound));
  sound.fields().set_draining(true);
  EXPECT_EQ(harness.Sync(sound).desired_size(), 0);
  EXPECT_EQ(harness.Sync(broken).desired_size(), 0);
  broken.fields().clear_trouble();
  EXPECT_EQ(harness.Sync(broken).desired_size(), 1);  // The evaluation.
  harness.Finish(broken);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
  EXPECT_FALSE(ListWorkers(harness.state(), {}).workers(0).has_trouble());
  harness.Restart();
}

v1::TrialEvent ResumedEvent(std::uint32_t step, const std::string& trouble) {
  v1::TrialEvent event;
  event.mutable_started()->set_resumed_step(step);
  if (!trouble.empty()) event.mutable_started()->set_resume_trouble(trouble);
  return event;
}

TEST_F(MachineFaultsTest, ADamagedCheckpointIsPassedOverWithANoticeAndNotTriedAgain) {
  Lease();
  for (const std::uint64_t step : {20, 40, 60, 80})
    worker.Emit(OnlyToken(worker), CheckpointEvent(step, false));
  harness.Report(worker, FailureEvent(v1::LOST, "gone"));
  const v1::Assignment second = worker.running().at(OnlyToken(worker));
  EXPECT_EQ(second.resume_step(), 80u);
  ASSERT_EQ(second.earlier_size(), 2);
  EXPECT_EQ(second.earlier(0).path(), "attempts/st-1/1/step-60.safetensors");
  EXPECT_EQ(second.earlier(0).sha256(), std::string(64, 'a'));
  EXPECT_EQ(second.earlier(1).path(), "attempts/st-1/1/step-40.safetensors");

  harness.Report(worker, ResumedEvent(40, "step-80 and step-60 are damaged"));
  const std::string notice = "attempt 2 began at step 40, not at 80: step-80 and step-60 are damaged";
  EXPECT_THAT(harness.Why("t-1"), HasSubstr(notice));
  EXPECT_THAT(harness.Query("SELECT kind, message FROM event WHERE token = 2"),
              HasSubstr("checkpoint_passed_over|" + notice));
  harness.Restart(worker);
  worker.Emit(OnlyToken(worker), CheckpointEvent(50, false, 'b'));
  harness.Report(worker, FailureEvent(v1::LOST, "gone"));
  const v1::Assignment third = worker.running().at(OnlyToken(worker));
  EXPECT_EQ(third.resume_step(), 50u);
  ASSERT_EQ(third.earlier_size(), 1);
  EXPECT_EQ(third.earlier(0).path(), "attempts/st-1/1/step-40.safetensors");
  EXPECT_EQ(harness.Status(sweep).trials().failed(), 0u);
}

TEST_F(MachineFaultsTest, WhyAnAttemptBeganEarlierStaysWithItsResult) {
  worker.Emit(Lease(), CheckpointEvent(20, false));
  harness.Report(worker, FailureEvent(v1::LOST, "gone"));
  worker.Emit(OnlyToken(worker), ResumedEvent(0, "step-20 is damaged"));
  harness.Finish(worker);
  EXPECT_EQ(harness.Query("SELECT outcome, message FROM attempt WHERE token = 2"),
            "SUCCEEDED|attempt 2 began at step 0, not at 20: step-20 is damaged\n");
}

TEST_F(MachineFaultsTest, AnAttemptThatResumesWhereItWasToHasNoNotice) {
  worker.Emit(Lease(), CheckpointEvent(20, false));
  harness.Report(worker, FailureEvent(v1::LOST, "gone"));
  harness.Report(worker, ResumedEvent(20, ""));
  EXPECT_THAT(harness.Why("t-1"), Not(HasSubstr("began at step")));
}

TEST_F(MachineFaultsTest, AfterAStandstillOfTheCoordinatorNobodyWasSilent) {
  harness.Submit(SmallSweep("s", 2));
  HandWorker gone("gone", 1);
  harness.Sync(worker);
  harness.Sync(gone);
  harness.Advance(hours(2));  // Longer than any term: the lease's, the stall's, a yield's.
  harness.Standstill();
  harness.Tick();
  const State& state = harness.state();
  EXPECT_EQ(state.leases.size(), 2u);
  EXPECT_EQ(state.workers.connected(), 2);
  EXPECT_EQ(state.stats.leases_expired, 0u);
  EXPECT_EQ(harness.Sync(worker).desired_size(), 1);
  // From here on the terms are the usual ones.
  harness.Advance(seconds(10));
  harness.Sync(worker);
  harness.TickAfter(seconds(10));
  EXPECT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(harness.Query("SELECT failure FROM attempt WHERE failure NOT NULL"), "LOST\n");
}

TEST_F(MachineFaultsTest, AnAttemptTookAsLongAsItRanThoughTheClockWasSet) {
  harness.Submit(SmallSweep("s", 1));
  const auto seconds_of = [&](Token token) {
    return harness.Query("SELECT (ended_ms - started_ms) / 1000 FROM attempt WHERE token = " +
                         std::to_string(token));
  };
  harness.Sync(worker);
  for (const Duration jump : {Duration(hours(9600)), Duration(hours(-9600))}) {
    const Token token = OnlyToken(worker);
    harness.SetWall(jump);
    harness.Advance(seconds(5));
    harness.Report(worker, token, FailureEvent(v1::LOST, "gone"));
    EXPECT_EQ(seconds_of(token), "5\n");
  }
  // Over a restart of the coordinator the worker knows.
  const Token token = OnlyToken(worker);
  harness.Advance(seconds(3));
  harness.Restart();
  harness.SetWall(hours(9600));
  harness.Restart(worker);
  harness.Advance(seconds(2));
  v1::TrialEvent event = FailureEvent(v1::LOST, "gone");
  event.mutable_outcome()->set_ran_ms(5000);
  harness.Report(worker, token, event);
  EXPECT_EQ(seconds_of(token), "5\n");
}

}  // namespace
}  // namespace inlier
