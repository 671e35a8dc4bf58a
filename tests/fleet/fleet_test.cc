// The fleet's decisions about submissions: which it asks for, and never twice.
#include "fleet/fleet.h"

#include <gmock/gmock.h>

#include "coordinator/state/resources.h"
#include "tests/fleet/fleet_fixture.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(FleetTest, WorkIsAskedForOnceItIsStored) {
  EXPECT_FALSE(Look().submit.has_value());
  Wait(4);
  EXPECT_EQ(Look().submit->jobs, 2u);  // Two slots each.
  EXPECT_EQ(Rows(), "1|2|ASKED|\n");
  EXPECT_FALSE(Look().submit.has_value());  // sbatch runs.
  Answer({.number = 1, .kind = Kind::kTaken, .job = "17"});
  EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
  EXPECT_FALSE(Look().submit.has_value());  // The queue does not show it yet.
}

TEST_F(FleetTest, NothingIsAskedForWhileItCannotBeStored) {
  Wait(4);
  view_.can_store = false;
  EXPECT_FALSE(Look().submit.has_value());
}

TEST_F(FleetTest, ASubmissionWithoutAnAnswerIsTakenWhenItShows) {
  Wait(4);
  ASSERT_TRUE(Look().submit.has_value());
  Answer({.number = 1, .kind = Kind::kUnclear, .message = "sbatch did not end in time"});
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("it is not known whether Slurm took inlier-3fa9c1d2-1 (2 jobs)")));
  for (const char* id : {"17_0", "17_1"}) Queue(id, 1);
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
  EXPECT_THAT(Reasons(), ElementsAre("2 jobs wait in Slurm's queue: Priority"));
}

TEST_F(FleetTest, ASubmissionThatNeverShowsIsGivenUpAfterItsTimeAndAnotherOneFollows) {
  Wait(4);
  ASSERT_TRUE(Look().submit.has_value());
  Answer({.number = 1, .kind = Kind::kUnclear});
  for (int look = 0; look < 11; ++look) EXPECT_FALSE(Look().submit.has_value()) << look;
  EXPECT_EQ(Look().submit->number, 2u);
  EXPECT_EQ(Rows(), "1|2|LOST|\n2|2|ASKED|\n");
  // It shows after all: nothing more is asked for, and what is too much goes back.
  Answer({.number = 2, .kind = Kind::kTaken, .job = "18"});
  for (const char* id : {"17_0", "17_1"}) Queue(id, 1);
  for (const char* id : {"18_0", "18_1"}) Queue(id, 2);
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Rows(), HasSubstr("1|1|TAKEN|17\n"));
  EXPECT_EQ(LookUntilCancelled(7).size(), 2u);
}

TEST_F(FleetTest, AfterACrashBetweenTheStoreAndTheAnswerTheQueueDecides) {
  Wait(4);
  ASSERT_TRUE(Look().submit.has_value());
  Restart();
  EXPECT_FALSE(Look().submit.has_value());
  for (const char* id : {"17_0", "17_1"}) Queue(id, 1);
  for (int start = 0; start < 2; ++start) {
    EXPECT_FALSE(Look().submit.has_value());
    EXPECT_EQ(Rows(), "1|2|TAKEN|17\n");
    Restart();
  }
  EXPECT_EQ(fleet_.row->id, "3fa9c1d2");
}

TEST_F(FleetTest, ADatabaseFromABackupAdoptsTheJobsOfLaterSubmissions) {
  Queue("40", 5);
  Queue("41_0", 6);
  Look();
  EXPECT_EQ(Rows(), "5|1|TAKEN|40\n6|1|TAKEN|41\n");
  Wait(40);
  const FleetStep step = Look();
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->number, 7u);
  EXPECT_EQ(step.submit->jobs, 6u);
}

TEST_F(FleetTest, WhileTheQueueCannotBeReadNothingIsAskedForOrGivenBack) {
  Wait(4);
  Take("17");
  Look();
  const absl::Status down = absl::UnavailableError("squeue: Unable to contact slurm controller");
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
  Wait(40);
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
}

TEST_F(FleetTest, ALimitOnJobsIsNamedWithTheNumberThatThereAre) {
  Wait(40);
  const auto refuse = [this] {
    Answer({.number = Look().submit->number, .kind = Kind::kRefused, .message = "job submit limit"});
  };
  refuse();
  Take("18");
  EXPECT_EQ(queue_.size(), 4u);
  refuse();
  EXPECT_THAT(Reasons(), Contains(HasSubstr("partition gpu refuses more than 4 jobs: job submit limit")));
}

TEST_F(FleetTest, JobsThatEndBeforeTheirWorkersConnectMakeTheNextOneWait) {
  Wait(1);
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
  now_ += seconds(40);
  EXPECT_TRUE(Look().submit.has_value());
}

TEST_F(FleetTest, WhatNoJobCouldRunIsNotAskedFor) {
  RunJob("17");
  view_.backlog = {{ResourceRequest{.gpu_thousandths = kWholeGpu}, 8}};
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(),
              Contains(HasSubstr("8 stages wait that no job of the fleet could run: needed is a whole GPU")));
}

TEST_F(FleetTest, AJobRunsAsManyGangsAsItsSlotsAreFor) {
  view_.backlog = {{ResourceRequest{.processes = 2}, 3}};
  EXPECT_EQ(Look().submit->jobs, 3u);  // Two slots each.
  view_.backlog = {{ResourceRequest{.processes = 3}, 1}};
  Look();
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
  view_.backlog = {{ResourceRequest{.processes = 3}, 1}};
  Take("17");
  EXPECT_EQ(queue_.size(), 1u);
  Set(Phase::kRunning, "RUNNING");
  Connect("17");
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), Contains(HasSubstr("no job of the fleet could run")));
}

}  // namespace
}  // namespace inlier
