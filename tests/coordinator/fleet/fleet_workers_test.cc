// The fleet's decisions about the workers of its jobs: which count, which are given back, what they take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/fleet/fleet_fixture.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Phase = EngineJob::Phase;
using Kind = Submitted::Kind;

// Slurm may start it between the look that lists it as queued and the call that ends it.
TEST_F(FleetTest, AWorkerThatConnectsFromAJobThatIsGivenBackTakesNothing) {
  harness_.Submit(SmallSweep("one", 1));
  Take("17");
  Look();
  v1::StopFleetRequest stop;
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnStopFleet, stop).ok());
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
  stop.set_resume(true);
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnStopFleet, stop).ok());
  EXPECT_TRUE(Connect("17").running().empty());
}

TEST_F(FleetTest, OfAJobThatWasQueuedAgainTheLaterWorkerCounts) {
  harness_.Submit(SmallSweep("one", 1));
  HandWorker before = RunJob("17");
  EXPECT_EQ(RunAll(harness_, before), 2u);
  Look();
  for (int i = 0; i < 6; ++i) {  // It is idle for long enough to be given back.
    harness_.Advance(seconds(10));
    harness_.Sync(before);
  }
  v1::SweepSpec two = SmallSweep("two", 2);
  two.mutable_base()->mutable_training()->set_steps(101);
  harness_.Submit(two);
  HandWorker later("a-17", 2);
  later.fields().set_job("17");
  later.fields().set_job_seconds_left(3000);
  harness_.Advance(seconds(1));
  harness_.Sync(later);
  ASSERT_EQ(later.running().size(), 2u);
  EXPECT_THAT(Look().cancel, IsEmpty());
}

// Its program does not start there, or does not reach the coordinator: the nodes would be held until the time limit.
TEST_F(FleetTest, ARunningJobWhoseWorkerNeverConnectsIsGivenBackAndTheNextOnesWait) {
  harness_.Submit(SmallSweep("one", 1));
  for (int job = 17; job < 20; ++job) {
    Take(absl::StrCat(job));
    for (int look = 0; look < 100; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << "while it is queued";
    Set(Phase::kRunning, "RUNNING");
    Look();
    for (int look = 1; look < 90; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
    const FleetStep step = Look();
    EXPECT_THAT(step.cancel, ElementsAre(absl::StrCat(job)));
    queue_.clear();
    if (step.submit) {  // Another in its place, which is queued before this one has gone.
      ASSERT_LT(job, 19);
      Answer({.number = step.submit->number, .kind = Kind::kRefused, .message = "not now"});
      harness_.Advance(seconds(600));
    }
  }
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("job 19: it ran for 15 min 00 s and no worker connected from it")));
}

TEST_F(FleetTest, AJobThatRanBeforeTheCoordinatorStartedIsNotGivenBackForItsSilence) {
  harness_.Submit(SmallSweep("one", 1));
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  Look();
  harness_.Restart();
  for (int look = 0; look < 200; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  EXPECT_THAT(Reasons(), Contains(HasSubstr("1 job runs without a connected worker")));
  // A person wants all jobs to end.
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnStopFleet, v1::StopFleetRequest()).ok());
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
}

TEST_F(FleetTest, AStopWaitsForAWorkerThatIsAwayForAShortTime) {
  harness_.Submit(SmallSweep("one", 1));
  HandWorker worker = RunJob("17");
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnStopFleet, v1::StopFleetRequest()).ok());
  harness_.Advance(seconds(300));
  harness_.Tick();
  for (int look = 0; look < 50; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  for (int look = 0; look < 50; ++look) Look();
  EXPECT_TRUE(fleet().leaving.contains("17"));
}

TEST_F(FleetTest, ARunAfterAPreemptionMustBringAWorkerOfItsOwn) {
  harness_.Submit(SmallSweep("one", 1));
  RunJob("17");
  Set(Phase::kQueued, "PENDING");
  harness_.Advance(seconds(300));
  harness_.Tick();
  Look();
  Set(Phase::kRunning, "RUNNING");
  for (int look = 0; look < 90; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
}

// The prolog of a node fails, for example: Slurm holds the job until a person releases it.
TEST_F(FleetTest, AJobWhoseStartFailedIsReplacedAndTheNextOnesWait) {
  harness_.Submit(SmallSweep("one", 1));
  for (int job = 17; job < 20; ++job) {
    Take(absl::StrCat(job));
    Look();
    Set(Phase::kQueued, "PENDING", "launch failed requeued held");
    queue_.back().stuck = true;
    const FleetStep step = Look();
    EXPECT_THAT(step.cancel, ElementsAre(absl::StrCat(job)));
    queue_.clear();
    if (!step.submit) break;
    Answer({.number = step.submit->number, .kind = Kind::kRefused, .message = "not now"});
    harness_.Advance(seconds(600));
  }
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), Contains(HasSubstr("job 19: PENDING, launch failed requeued held")));
}

TEST_F(FleetTest, AnIdleWorkerOfAnEarlierVersionIsReplaced) {
  harness_.Submit(SmallSweep("one", 1));
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  HandWorker worker("w-17", 2);
  worker.fields().set_job("17");
  worker.fields().set_job_seconds_left(3000);
  worker.fields().set_version("1.0.1");
  worker.fields().set_spec_form("another form");
  harness_.Sync(worker);
  ASSERT_TRUE(worker.running().empty());
  const FleetStep step = Look();
  EXPECT_THAT(step.cancel, ElementsAre("17"));
  ASSERT_TRUE(step.submit.has_value());
}

// A check of data is no stage that waits: without a worker no one could answer it.
TEST_F(FleetTest, ASweepThatWaitsForACheckOfItsDataBringsAJobWhichIsKeptMeanwhile) {
  harness_.Submit(SmallSweep("one", 1));
  HandWorker worker = RunJob("17");
  EXPECT_EQ(RunAll(harness_, worker), 2u);
  queue_.clear();
  harness_.Advance(seconds(60));
  harness_.Tick();
  Look();
  ASSERT_EQ(fleet().jobs.size() + fleet().submissions.size(), 0u);
  harness_.Submit(SmallSweep("again", 1));
  Take("18");
  Set(Phase::kRunning, "RUNNING");
  HandWorker reader = Connect("18");
  ASSERT_EQ(reader.checked().size(), 1u);  // It reads, for longer than idle_seconds.
  for (int look = 0; look < 12; ++look) {
    EXPECT_THAT(Look().cancel, IsEmpty()) << look;
    v1::WorkerSync sync = reader.Sync();
    for (v1::DataChecked& checked : *sync.mutable_data_checked()) {
      checked.clear_digest();
      checked.set_digest(absl::StrCat("reading file ", look));
    }
    ASSERT_TRUE(harness_.TrySync(sync).ok());
  }
  EXPECT_EQ(RunAll(harness_, reader), 0u);  // The known result.
  std::vector<std::string> cancelled;
  for (int look = 0; look < 8 && cancelled.empty(); ++look) {
    harness_.Sync(reader);
    cancelled = Look().cancel;
  }
  EXPECT_THAT(cancelled, ElementsAre("18"));
}

TEST_F(FleetTest, AJobIsThereAsLongAsItsWorkerIsConnectedAlsoWhereSlurmHasLostIt) {
  harness_.Submit(SmallSweep("two", 2));
  HandWorker worker = RunJob("17");
  queue_.clear();
  harness_.Sync(worker);
  Look();
  EXPECT_EQ(Rows(), "1|1|TAKEN|17\n");
  harness_.Advance(seconds(60));
  harness_.Tick();
  Look();
  EXPECT_THAT(Rows(), HasSubstr("1|1|ENDED|17\n"));
}

TEST_F(FleetTest, OfAnArrayThatHasEndedAWorkerThatIsStillThereCountsAlone) {
  harness_.Submit(SmallSweep("many", 40));
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  HandWorker worker = Connect("17_0");
  Look();
  Set(Phase::kEnded, "CANCELLED");
  const FleetStep step = Look();
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->jobs, 7u);
}

TEST_F(FleetTest, ADrainedWorkerIsReplacedAndItsJobEndsOnceItIsIdle) {
  harness_.Submit(SmallSweep("one", 1));
  HandWorker worker = RunJob("17");
  v1::DrainWorkerRequest drain;
  drain.set_worker("worker-w-17");
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnDrain, drain).ok());
  harness_.Submit(SmallSweep("two", 2));  // The first of its trainings is that of the other sweep.
  const FleetStep step = Look();
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->jobs, 1u);
  EXPECT_THAT(step.cancel, IsEmpty());
  Answer({.number = step.submit->number, .kind = Kind::kTaken, .job = "18"});
  Queue("18", step.submit->number);
  worker.Finish(OnlyToken(worker));
  harness_.Sync(worker);
  ASSERT_TRUE(worker.running().empty());
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
}

TEST_F(FleetTest, AnIdleWorkerWhoseJobIsTooShortForWhatWaitsIsReplaced) {
  harness_.Submit(SmallSweep("one", 1));
  HandWorker first = RunJob("17");
  harness_.Advance(seconds(1500));
  first.Emit(OnlyToken(first), FailureEvent(v1::PREEMPTED, "the worker is ending"));  // It has saved nothing.
  first.fields().set_draining(true);
  harness_.Sync(first);
  queue_.clear();
  Queue("18", 2);
  Set(Phase::kRunning, "RUNNING");
  HandWorker second = Connect("18", 2000);
  ASSERT_TRUE(second.running().empty());
  const FleetStep step = Look();
  EXPECT_THAT(step.cancel, ElementsAre("18"));
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->jobs, 1u);
}

TEST_F(FleetTest, AnIdleWorkerTakesNothingFromTheDecisionOnAndItsJobEnds) {
  harness_.Submit(SmallSweep("one", 1));
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  HandWorker worker = Connect("17");
  ASSERT_EQ(worker.running().size(), 1u);
  Look();
  EXPECT_EQ(RunAll(harness_, worker), 2u);
  std::vector<std::string> cancelled;
  for (int look = 0; look < 8 && cancelled.empty(); ++look) {
    harness_.Sync(worker);
    cancelled = Look().cancel;
  }
  EXPECT_THAT(cancelled, ElementsAre("17"));
  harness_.Submit(SmallSweep("two", 2));
  Settle(worker);
  EXPECT_TRUE(worker.running().empty());
  // Slurm did not end it: it works again.
  Effects effects;
  harness_.orchestrator().OnFleetCancelled(cancelled, absl::UnavailableError("scancel"), harness_.now(),
                                           effects);
  harness_.Commit(std::move(effects));
  Settle(worker);
  EXPECT_FALSE(worker.running().empty());
}

}  // namespace
}  // namespace inlier
