// The fleet's decisions about the workers of its jobs: which count, and which are given back.
#include <gmock/gmock.h>

#include "tests/fleet/fleet_fixture.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(FleetTest, AnIdleWorkerIsDrainedFromTheDecisionOnAndItsJobEnds) {
  RunJob("17").attempts = 0;
  EXPECT_THAT(LookUntilCancelled(8), ElementsAre("17"));
  EXPECT_THAT(DrainOf(fleet_).jobs, ElementsAre("17"));
  // Slurm did not end it: it works again.
  FleetContext context = Context();
  TakeCancelled(context, {"17"}, absl::UnavailableError("scancel"));
  EXPECT_THAT(DrainOf(fleet_).jobs, IsEmpty());
}

// An attempt of a second between two looks.
TEST_F(FleetTest, AWorkerThatHadAnAttemptSinceTheLastLookIsNotIdleForLong) {
  Worker& worker = RunJob("17");
  worker.attempts = 0;
  for (int look = 0; look < 30; ++look) {
    EXPECT_THAT(Look().cancel, IsEmpty()) << look;
    worker.leased = now_ + seconds(1);
  }
}

TEST_F(FleetTest, AWorkerThatGotAnAttemptBeforeItWasDrainedKeepsItsJob) {
  Worker& worker = RunJob("17");
  worker.attempts = 0;
  Look();
  now_ += seconds(60);
  FleetContext context = Context();
  FleetStep step = TakeLook(context, {.began = now_, .jobs = queue_});
  EXPECT_THAT(step.cancel, ElementsAre("17"));
  worker.attempts = 1;
  EXPECT_FALSE(ConfirmGivenBack(context, step));
  EXPECT_THAT(step.cancel, IsEmpty());
  EXPECT_THAT(DrainOf(fleet_).jobs, IsEmpty());
}

TEST_F(FleetTest, AJobThatIsAskedToEndAndStaysIsAskedAgainAfterAMinute) {
  RunJob("17").attempts = 0;
  ASSERT_THAT(LookUntilCancelled(8), ElementsAre("17"));
  for (int look = 1; look < 6; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
}

TEST_F(FleetTest, OfAJobThatWasQueuedAgainTheLaterWorkerCounts) {
  RunJob("17").attempts = 0;
  for (int look = 0; look < 5; ++look) Look();
  Connect("17", 2).last_seen = now_ + seconds(1);
  for (int look = 0; look < 5; ++look) EXPECT_THAT(Look().cancel, IsEmpty());
}

// Its program does not start there, or does not reach the coordinator: the nodes would be held until the time limit.
TEST_F(FleetTest, ARunningJobWhoseWorkerNeverConnectsIsGivenBackAndTheNextOnesWait) {
  Wait(1);
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
      now_ += seconds(600);
    }
  }
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("job 19: it ran for 15 min 00 s and no worker connected from it")));
}

TEST_F(FleetTest, AJobThatRanBeforeTheCoordinatorStartedIsNotGivenBackForItsSilence) {
  Wait(1);
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  Look();
  Restart();
  for (int look = 0; look < 200; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  EXPECT_THAT(Reasons(), Contains(HasSubstr("1 job runs without a connected worker")));
  Stop();  // A person wants all jobs to end.
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
}

TEST_F(FleetTest, AStopWaitsForAWorkerThatIsAwayForAShortTime) {
  RunJob("17").connected = false;
  Stop();
  for (int look = 0; look < 50; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  EXPECT_THAT(LookUntilCancelled(50), ElementsAre("17"));
}

TEST_F(FleetTest, ARunAfterAPreemptionMustBringAWorkerOfItsOwn) {
  RunJob("17").connected = false;
  Wait(1);
  Set(Phase::kQueued, "PENDING");
  Look();
  Set(Phase::kRunning, "RUNNING");
  now_ += seconds(1);  // The earlier run's worker was heard before.
  for (int look = 0; look < 90; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
}

// The prolog of a node fails, for example: Slurm holds the job until a person releases it.
TEST_F(FleetTest, AJobWhoseStartFailedIsReplacedAndTheNextOnesWait) {
  Wait(1);
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
    now_ += seconds(600);
  }
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), Contains(HasSubstr("job 19: PENDING, launch failed requeued held")));
}

// One that is drained, or outdated: another one takes its place, and its job ends once it is idle.
TEST_F(FleetTest, AWorkerThatRefusesWorkIsReplacedAndItsJobEndsOnceItIsIdle) {
  RunJob("17").refuses = true;
  Wait(1);
  const FleetStep step = Look();
  EXPECT_EQ(step.submit->jobs, 1u);
  EXPECT_THAT(step.cancel, IsEmpty());
  view_.workers.back().attempts = 0;
  EXPECT_THAT(Look().cancel, ElementsAre("17"));
}

TEST_F(FleetTest, AnIdleWorkerWhoseJobIsTooShortForWhatWaitsIsReplaced) {
  Worker& worker = RunJob("17");
  worker.attempts = 0;
  worker.seconds_left = 2000;
  view_.backlog = {{ResourceRequest{.seconds = 2001}, 1}};
  const FleetStep step = Look();
  EXPECT_THAT(step.cancel, ElementsAre("17"));
  EXPECT_EQ(step.submit->jobs, 1u);
}

// A check of data is no stage that waits: without a worker no one could answer it.
TEST_F(FleetTest, ASweepThatWaitsForACheckOfItsDataBringsAJobWhichIsKeptMeanwhile) {
  view_.data_wait = true;
  Take("18");
  Set(Phase::kRunning, "RUNNING");
  Connect("18").reads_data = true;
  view_.data_wait = false;
  for (int look = 0; look < 12; ++look) EXPECT_THAT(Look().cancel, IsEmpty()) << look;
  view_.workers.back().reads_data = false;
  EXPECT_THAT(LookUntilCancelled(8), ElementsAre("18"));
}

TEST_F(FleetTest, AJobIsThereAsLongAsItsWorkerIsConnectedAlsoWhereSlurmHasLostIt) {
  RunJob("17");
  queue_.clear();
  Look();
  EXPECT_EQ(Rows(), "1|1|TAKEN|17\n");
  view_.workers.back().connected = false;
  Look();
  EXPECT_EQ(Rows(), "1|1|ENDED|17\n");
}

TEST_F(FleetTest, OfAnArrayThatHasEndedAWorkerThatIsStillThereCountsAlone) {
  Wait(40);
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  Connect("17_0", 2);
  Look();
  Set(Phase::kEnded, "CANCELLED");
  EXPECT_EQ(Look().submit->jobs, 7u);
}

}  // namespace
}  // namespace inlier
