#include "coordinator/fleet/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

using Job = FleetFacts::Job;

FleetFacts Healthy() {
  FleetFacts facts;
  facts.maximum = 8;
  facts.batch_max = 100;
  facts.idle_after = seconds(60);
  facts.may_submit = true;
  return facts;
}

Job Queued(const std::string& id) { return {.id = id, .queued = true, .idle_for = {}}; }
Job Busy(const std::string& id) { return {.id = id, .busy = true, .idle_for = {}}; }
Job Idle(const std::string& id, int idle_seconds) { return {.id = id, .idle_for = seconds(idle_seconds)}; }
Job Starting(const std::string& id) { return {.id = id, .idle_for = {}}; }

TEST(FleetPlanTest, WorkBringsJobsUpToTheMaximum) {
  FleetFacts facts = Healthy();
  facts.for_backlog = 3;
  EXPECT_EQ(PlanFleet(facts).submit, 3u);
  facts.for_backlog = 200;
  EXPECT_EQ(PlanFleet(facts).submit, 8u);
  EXPECT_EQ(PlanFleet(facts).wanted, 8u);
}

TEST(FleetPlanTest, JobsThatAreThereAreNotAskedForAgain) {
  FleetFacts facts = Healthy();
  facts.for_backlog = 4;
  facts.jobs = {Queued("1"), Starting("2"), Idle("3", 0)};
  EXPECT_EQ(PlanFleet(facts).submit, 1u);
  facts.unclear = 1;  // It may be there.
  EXPECT_EQ(PlanFleet(facts).submit, 0u);
}

TEST(FleetPlanTest, BusyJobsComeOnTopOfTheBacklog) {
  FleetFacts facts = Healthy();
  facts.for_backlog = 2;
  facts.jobs = {Busy("1"), Busy("2")};
  EXPECT_EQ(PlanFleet(facts).wanted, 4u);
  EXPECT_EQ(PlanFleet(facts).submit, 2u);
}

TEST(FleetPlanTest, AMinimumIsKeptWithoutWork) {
  FleetFacts facts = Healthy();
  facts.minimum = 2;
  EXPECT_EQ(PlanFleet(facts).submit, 2u);
  facts.jobs = {Idle("1", 1000), Idle("2", 1000), Idle("3", 1000)};
  const FleetPlan plan = PlanFleet(facts);
  EXPECT_EQ(plan.submit, 0u);
  EXPECT_THAT(plan.give_back, ElementsAre("1"));
}

TEST(FleetPlanTest, ASubmissionHasAtMostABatch) {
  FleetFacts facts = Healthy();
  facts.for_backlog = 8;
  facts.batch_max = 3;
  EXPECT_EQ(PlanFleet(facts).submit, 3u);
}

TEST(FleetPlanTest, NothingIsAskedForWhileItMayNot) {
  FleetFacts facts = Healthy();
  facts.for_backlog = 8;
  facts.may_submit = false;
  EXPECT_EQ(PlanFleet(facts).submit, 0u);
  EXPECT_EQ(PlanFleet(facts).wanted, 8u);
}

TEST(FleetPlanTest, JobsThatAreLeavingStillCountForTheMaximum) {
  FleetFacts facts = Healthy();
  facts.maximum = 2;
  facts.for_backlog = 2;
  facts.jobs = {Busy("1"), Busy("2")};
  facts.jobs[0].leaving = facts.jobs[1].leaving = true;
  EXPECT_EQ(PlanFleet(facts).submit, 0u);
  facts.jobs.pop_back();
  EXPECT_EQ(PlanFleet(facts).submit, 1u);
}

TEST(FleetPlanTest, IdleWorkersAreGivenBackTheLongestIdleFirst) {
  FleetFacts facts = Healthy();
  facts.jobs = {Idle("1", 70), Busy("2"), Idle("3", 90), Idle("4", 59), Starting("5")};
  const FleetPlan plan = PlanFleet(facts);
  EXPECT_TRUE(plan.surplus);
  EXPECT_THAT(plan.give_back, ElementsAre("3", "1"));
}

TEST(FleetPlanTest, AnIdleWorkerThatIsWantedStays) {
  FleetFacts facts = Healthy();
  facts.for_backlog = 1;
  facts.jobs = {Idle("1", 1000)};
  EXPECT_THAT(PlanFleet(facts).give_back, IsEmpty());
}

TEST(FleetPlanTest, QueuedJobsAreTakenBackWhenThereHaveBeenTooManyForAWhile) {
  FleetFacts facts = Healthy();
  facts.jobs = {Queued("1"), Queued("2"), Busy("3")};
  EXPECT_THAT(PlanFleet(facts).give_back, IsEmpty());
  facts.surplus_for = seconds(60);
  EXPECT_THAT(PlanFleet(facts).give_back, ElementsAre("2", "1"));
  facts.for_backlog = 1;
  EXPECT_THAT(PlanFleet(facts).give_back, ElementsAre("2"));
}

TEST(FleetPlanTest, AStopTakesBackWhatIsQueuedAndIdleAtOnceAndLeavesAttemptsAlone) {
  FleetFacts facts = Healthy();
  facts.stopped = true;
  facts.minimum = 2;
  facts.for_backlog = 5;
  facts.jobs = {Queued("1"), Busy("2"), Idle("3", 0)};
  const FleetPlan plan = PlanFleet(facts);
  EXPECT_EQ(plan.wanted, 0u);
  EXPECT_EQ(plan.submit, 0u);
  EXPECT_THAT(plan.give_back, ElementsAre("1", "3"));
}

TEST(FleetPlanTest, AJobThatEndsTooEarlyForAnythingIsGivenBackAndReplaced) {
  FleetFacts facts = Healthy();
  facts.for_backlog = 1;
  facts.jobs = {Idle("1", 0)};
  facts.jobs[0].useless = true;
  const FleetPlan plan = PlanFleet(facts);
  EXPECT_THAT(plan.give_back, ElementsAre("1"));
  EXPECT_EQ(plan.submit, 1u);
}

}  // namespace
}  // namespace inlier
