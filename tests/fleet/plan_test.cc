// How many jobs there should be, and which are given back.
#include <gmock/gmock.h>

#include "fleet/fleet.h"
#include "tests/fleet/fleet_fixture.h"

namespace inlier {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class FleetPlanTest : public FleetTest {
 protected:
  FleetPlanTest() { fleet_.last_poll = now_; }
  void Queued(const std::string& id) { fleet_.jobs[id] = {.id = id, .submission = 1}; }
  // Its worker has been idle for so long; -1: it has an attempt.
  void Running(const std::string& id, int idle_seconds = -1) {
    fleet_.jobs[id] = {.id = id, .submission = 1, .phase = Phase::kRunning};
    const Worker& worker = Connect(id, idle_seconds < 0 ? 1 : 0);
    if (idle_seconds >= 0) fleet_.idle[worker.incarnation] = now_ - seconds(idle_seconds);
  }
  FleetPlan Plan() {
    FleetContext context = Context();
    return PlanFleet(context);
  }
};

TEST_F(FleetPlanTest, WorkBringsJobsUpToTheMaximumOnTopOfThoseThatAreBusy) {
  Wait(6);
  EXPECT_EQ(Plan().submit, 3u);  // Two slots each.
  Running("1");
  Queued("2");
  EXPECT_EQ(Plan().submit, 2u);
  EXPECT_EQ(fleet_.wanted, 4u);
  Wait(200);
  EXPECT_EQ(Plan().submit, 6u);
  fleet_.config.mutable_slurm()->set_array_max(3);
  EXPECT_EQ(Plan().submit, 3u);
}

TEST_F(FleetPlanTest, AMinimumIsKeptWithoutWork) {
  fleet_.config.set_minimum(2);
  EXPECT_EQ(Plan().submit, 2u);
  for (const char* id : {"1", "2", "3"}) Running(id, 1000);
  EXPECT_EQ(Plan().submit, 0u);
  EXPECT_THAT(Plan().give_back, ElementsAre("1"));
}

TEST_F(FleetPlanTest, JobsThatAreLeavingStillCountForTheMaximum) {
  fleet_.config.set_maximum(2);
  Wait(4);
  Running("1");
  Running("2");
  fleet_.leaving = {{"1", now_}, {"2", now_}};
  EXPECT_EQ(Plan().submit, 0u);
  fleet_.jobs.erase("2");
  view_.workers.pop_back();
  EXPECT_EQ(Plan().submit, 1u);
}

TEST_F(FleetPlanTest, IdleWorkersAreGivenBackTheLongestIdleFirst) {
  Running("1", 70);
  Running("2");
  Running("3", 90);
  Running("4", 59);
  EXPECT_THAT(Plan().give_back, ElementsAre("3", "1"));
  Wait(4);  // They are wanted.
  EXPECT_THAT(Plan().give_back, ElementsAre("3"));
}

TEST_F(FleetPlanTest, QueuedJobsAreTakenBackWhenThereHaveBeenTooManyForAWhile) {
  Queued("1");
  Queued("2");
  Running("3");
  EXPECT_THAT(Plan().give_back, IsEmpty());
  now_ += seconds(60);
  EXPECT_THAT(Plan().give_back, ElementsAre("2", "1"));
  Wait(2);
  EXPECT_THAT(Plan().give_back, ElementsAre("2"));
  Wait(4);  // Not too many.
  EXPECT_THAT(Plan().give_back, IsEmpty());
  Wait(2);
  EXPECT_THAT(Plan().give_back, IsEmpty());
}

TEST_F(FleetPlanTest, AStopTakesBackWhatIsQueuedAndIdleAtOnceAndLeavesAttemptsAlone) {
  fleet_.row->stopped = true;
  fleet_.config.set_minimum(2);
  Wait(10);
  Queued("1");
  Running("2");
  Running("3", 0);
  const FleetPlan plan = Plan();
  EXPECT_EQ(plan.submit, 0u);
  EXPECT_THAT(plan.give_back, ElementsAre("1", "3"));
}

}  // namespace
}  // namespace inlier
