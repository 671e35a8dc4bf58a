// The fleet's decisions on a real store: what is submitted, and never twice.
#include "coordinator/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/status/explain.h"
#include "coordinator/status/fleet_status.h"
#include "tests/coordinator/fleet/fleet_fixture.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Phase = EngineJob::Phase;
using Kind = Submitted::Kind;

TEST_F(FleetTest, WorkIsAskedForOnceItIsStored) {
  EXPECT_FALSE(Look().submit.has_value());
  harness_.Submit(SmallSweep("four", 4));
  const FleetStep step = Look();
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->jobs, 2u);  // Two slots each.
  EXPECT_EQ(Rows(), "1|2|ASKED|\n");
  EXPECT_FALSE(Look().submit.has_value());  // sbatch runs.
  Answer({.number = 1, .kind = Kind::kTaken, .job = "17"});
  EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
  EXPECT_FALSE(Look().submit.has_value());  // The queue does not show it yet.
}

TEST_F(FleetTest, ASubmissionWithoutAnAnswerIsTakenWhenItShows) {
  harness_.Submit(SmallSweep("four", 4));
  ASSERT_TRUE(Look().submit.has_value());
  Answer({.number = 1, .kind = Kind::kUnclear, .message = "sbatch did not end in time"});
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("it is not known whether Slurm took inlier-3fa9c1d2-1 (2 jobs)")));
  Queue("17_0", 1);
  Queue("17_1", 1);
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
  EXPECT_THAT(Reasons(), ElementsAre("2 jobs wait in Slurm's queue: Priority"));
}

TEST_F(FleetTest, ASubmissionThatNeverShowsIsGivenUpAfterItsTimeAndAnotherOneFollows) {
  harness_.Submit(SmallSweep("four", 4));
  ASSERT_TRUE(Look().submit.has_value());
  Answer({.number = 1, .kind = Kind::kUnclear});
  for (int look = 0; look < 11; ++look) EXPECT_FALSE(Look().submit.has_value()) << look;
  const FleetStep step = Look();
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->number, 2u);
  EXPECT_EQ(Rows(), "1|2|LOST|\n2|2|ASKED|\n");
  // It shows after all: nothing more is asked for, and what is too much goes back.
  Answer({.number = 2, .kind = Kind::kTaken, .job = "18"});
  for (const char* id : {"17_0", "17_1"}) Queue(id, 1);
  for (const char* id : {"18_0", "18_1"}) Queue(id, 2);
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_EQ(harness_.Query("SELECT state, job FROM fleet_submission WHERE number = 1"), "TAKEN|17\n");
  std::vector<std::string> cancelled;
  for (int look = 0; look < 7 && cancelled.empty(); ++look) cancelled = Look().cancel;
  EXPECT_EQ(cancelled.size(), 2u);
}

TEST_F(FleetTest, AfterACrashBetweenTheStoreAndTheAnswerTheQueueDecides) {
  harness_.Submit(SmallSweep("four", 4));
  ASSERT_TRUE(Look().submit.has_value());
  harness_.Crash();
  EXPECT_FALSE(Look().submit.has_value());
  for (const char* id : {"17_0", "17_1"}) Queue(id, 1);
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
  harness_.Crash();
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
  EXPECT_EQ(fleet().row->id, "3fa9c1d2");
}

TEST_F(FleetTest, ADatabaseFromABackupAdoptsTheJobsOfLaterSubmissions) {
  for (const char* id : {"40", "41_0"}) Queue(id, id[1] == '0' ? 5 : 6);
  Look();
  EXPECT_EQ(Rows(), "5|1|TAKEN|40\n6|1|TAKEN|41\n");
  harness_.Submit(SmallSweep("many", 40));
  const FleetStep step = Look();
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->number, 7u);
  EXPECT_EQ(step.submit->jobs, 6u);
}

TEST_F(FleetTest, WhileTheQueueCannotBeReadNothingIsAskedForOrGivenBack) {
  harness_.Submit(SmallSweep("four", 4));
  Take("17");
  Look();
  const absl::Status down =
      absl::UnavailableError("squeue: Unable to contact slurm controller (connect failure)");
  for (int look = 0; look < 30; ++look) {
    const FleetStep step = Look(down);
    EXPECT_FALSE(step.submit.has_value());
    EXPECT_THAT(step.cancel, IsEmpty());
  }
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("Slurm does not answer, for 4 min 50 s: squeue: Unable to contact")));
  EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), Not(Contains(HasSubstr("does not answer"))));
}

TEST_F(FleetTest, ARefusalIsShownAndFewerAreAskedForThenLater) {
  const SweepId sweep = harness_.Submit(SmallSweep("many", 40));
  const std::string policy = "Batch job submission failed: Job violates accounting/QOS policy";
  std::vector<std::uint32_t> asked;
  for (int look = 0; look < 5; ++look) {
    const FleetStep step = Look();
    asked.push_back(step.submit ? step.submit->jobs : 0);
    if (step.submit) Answer({.number = step.submit->number, .kind = Kind::kRefused, .message = policy});
  }
  EXPECT_THAT(asked, ElementsAre(8u, 4u, 2u, 1u, 0u));
  EXPECT_THAT(
      Reasons(),
      Contains(HasSubstr(absl::StrCat("partition gpu refuses a job: ", policy, "; it is asked again in"))));
  v1::ExplainRequest request;
  request.set_sweep(sweep.ToString());
  const auto why = Explain(harness_.orchestrator().state(), request, harness_.now());
  ASSERT_TRUE(why.ok());
  EXPECT_THAT(why->DebugString(), HasSubstr("fleet: partition gpu refuses a job"));
}

TEST_F(FleetTest, ALimitOnJobsIsNamedWithTheNumberThatThereAre) {
  harness_.Submit(SmallSweep("many", 40));
  FleetStep step = Look();
  for (const std::uint32_t jobs : {8u, 4u}) {
    ASSERT_EQ(step.submit->jobs, jobs);
    if (jobs == 8)
      Answer({.number = step.submit->number, .kind = Kind::kRefused, .message = "job submit limit"});
    if (jobs == 8) step = Look();
  }
  Answer({.number = step.submit->number, .kind = Kind::kTaken, .job = "18"});
  for (const char* id : {"18_0", "18_1", "18_2", "18_3"}) Queue(id, step.submit->number);
  step = Look();
  Answer({.number = step.submit->number, .kind = Kind::kRefused, .message = "job submit limit"});
  EXPECT_THAT(Reasons(), Contains(HasSubstr("partition gpu refuses more than 4 jobs: job submit limit")));
}

TEST_F(FleetTest, JobsThatEndBeforeTheirWorkersConnectMakeTheNextOneWait) {
  harness_.Submit(SmallSweep("one", 1));
  for (const char* job : {"17", "18", "19"}) {
    Take(job);
    Look();
    Set(Phase::kEnded, "FAILED", "NonZeroExitCode");
  }
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("the last 3 jobs ended before their workers connected (job 19: FAILED, "
                                 "NonZeroExitCode); the jobs' output (fleet.slurm.output_folder) has the "
                                 "reason; it is asked again in")));
  harness_.Advance(seconds(40));
  EXPECT_TRUE(Look().submit.has_value());
}

TEST_F(FleetTest, QuotasOfSweepsLimitTheJobs) {
  v1::SweepSpec sweep = SmallSweep("many", 40);
  sweep.set_max_parallel(3);
  harness_.Submit(sweep);
  EXPECT_EQ(Look().submit->jobs, 2u);
}

TEST_F(FleetTest, WhatNoJobCouldRunIsNotAskedFor) {
  harness_.Submit(SmallSweep("one", 1));
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  HandWorker worker = Connect("17");
  Look();
  v1::SweepSpec large = SmallSweep("large", 8);
  large.mutable_resources()->set_gpu(1);
  large.mutable_base()->mutable_training()->set_steps(101);  // No training of the other sweep.
  harness_.Submit(large);
  harness_.Sync(worker);
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("8 stages wait that no job of the fleet could run: needed is a whole GPU")));
}

v1::SweepSpec SweepOfGangs(std::uint32_t processes, int seeds) {
  v1::SweepSpec sweep = SmallSweep("gangs", seeds);
  sweep.mutable_base()->mutable_training()->set_batch_size(48);
  sweep.mutable_resources()->set_processes(processes);
  return sweep;
}

TEST_F(FleetTest, AJobRunsAsManyGangsAsItsSlotsAreFor) {
  harness_.Submit(SweepOfGangs(2, 3));
  const FleetStep step = Look();
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->jobs, 3u);  // Two slots each.
}

TEST_F(FleetTest, AGangThatNeedsMoreSlotsThanAJobHasBringsNone) {
  harness_.Submit(SweepOfGangs(3, 1));
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), Contains(HasSubstr("1 stage waits that no job of the fleet could run: needed is 3 "
                                            "processes on one worker")));
}

class FleetOfUnknownSlotsTest : public FleetTest {
 protected:
  static v1::FleetConfig Config() {
    v1::FleetConfig config = SmallFleet();
    config.clear_slots();
    return config;
  }
  FleetOfUnknownSlotsTest() : FleetTest(Config()) {}
};

// Else none would ever come, whose slots could be counted.
TEST_F(FleetOfUnknownSlotsTest, AGangBringsAJobWhileTheSlotsOfOneAreNotKnown) {
  harness_.Submit(SweepOfGangs(3, 1));
  Take("17");
  EXPECT_EQ(queue_.size(), 1u);
  Set(Phase::kRunning, "RUNNING");
  Connect("17");
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), Contains(HasSubstr("no job of the fleet could run")));
}

TEST_F(FleetTest, PeopleScaleAndStopItAndARestartKeepsBoth) {
  harness_.Submit(SmallSweep("many", 40));
  v1::ScaleFleetRequest scale;
  scale.set_maximum(3);
  const auto scaled = harness_.Ask(&Orchestrator::OnScaleFleet, scale);
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  EXPECT_EQ(scaled->maximum(), 3u);
  Take("17");
  EXPECT_EQ(queue_.size(), 3u);
  harness_.Crash();
  v1::StopFleetRequest stop;
  Look();
  const auto stopped = harness_.Ask(&Orchestrator::OnStopFleet, stop);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->queued(), 3u);
  harness_.Crash();
  EXPECT_EQ(Look().cancel.size(), 3u);
  queue_.clear();
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), Contains("the fleet is stopped (inlier fleet stop --resume)"));
  stop.set_resume(true);
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnStopFleet, stop).ok());
  EXPECT_EQ(Look().submit->jobs, 3u);
}

TEST_F(FleetTest, AStopNowMakesAttemptsYield) {
  harness_.Submit(SmallSweep("two", 2));
  Take("17");
  Set(Phase::kRunning, "RUNNING");
  HandWorker worker = Connect("17");
  Look();
  v1::StopFleetRequest stop;
  stop.set_now(true);
  ASSERT_TRUE(harness_.Ask(&Orchestrator::OnStopFleet, stop).ok());
  EXPECT_EQ(harness_.Sync(worker).stop_size(), 2);
}

TEST_F(FleetTest, AFleetOfTheConfigurationIsNotReplaced) {
  v1::SetFleetRequest request;
  *request.mutable_config() = SmallFleet();
  EXPECT_TRUE(absl::IsFailedPrecondition(harness_.Ask(&Orchestrator::OnSetFleet, request).status()));
}

}  // namespace
}  // namespace inlier
