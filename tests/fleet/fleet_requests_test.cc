// Requests of people about a fleet, and a fleet that its configuration makes or leaves out.
#include <gmock/gmock.h>

#include "fleet/fleet.h"
#include "tests/fleet/fleet_fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NoFleetTest : public FleetTest {
 protected:
  NoFleetTest() : FleetTest(std::nullopt) { *request_.mutable_config() = SmallFleet(); }
  absl::Status SetIt() { return Ask(&SetFleet, request_, "3fa9c1d2").status(); }

  v1::SetFleetRequest request_;
};

TEST_F(NoFleetTest, OneIsMadeStoredAndReplaced) {
  EXPECT_TRUE(absl::IsNotFound(Ask(&StopFleet, v1::StopFleetRequest()).status()));
  ASSERT_TRUE(SetIt().ok());
  EXPECT_EQ(row_->id, "3fa9c1d2");
  Restart();
  EXPECT_EQ(fleet_.config.slurm().partition(), "gpu");
  request_.mutable_config()->mutable_slurm()->set_partition("$(id)");
  EXPECT_TRUE(absl::IsInvalidArgument(SetIt()));
  request_.mutable_config()->mutable_slurm()->set_partition("cpu");
  ASSERT_TRUE(SetIt().ok());
  EXPECT_EQ(fleet_.config.slurm().partition(), "cpu");
}

// They run as the coordinator's user, on its machine.
TEST_F(NoFleetTest, ProgramsOfTheCoordinatorComeFromItsConfigurationAlone) {
  for (const char* field : {"programs", "conf"}) {
    *request_.mutable_config() = SmallFleet();
    v1::SlurmConfig& slurm = *request_.mutable_config()->mutable_slurm();
    slurm.GetReflection()->SetString(&slurm, slurm.GetDescriptor()->FindFieldByName(field), "/home/eve");
    EXPECT_THAT(
        SetIt(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("fleet.slurm.", field, ": it decides what the coordinator runs"))));
  }
  EXPECT_FALSE(row_);
}

// Else a fleet that was made larger would count the slots of its old jobs, and never ask for a new one.
TEST_F(NoFleetTest, TheSlotsOfItsEarlierJobsAreNotThoseOfAFleetThatIsReplaced) {
  ASSERT_TRUE(SetIt().ok());
  RunJob("17").attempts = 0;
  EXPECT_EQ(fleet_.slots.size(), 2u);
  request_.mutable_config()->set_slots(8);
  ASSERT_TRUE(SetIt().ok());
  Wait(32);
  EXPECT_EQ(Look().submit->jobs, 3u);  // Eight slots each, in addition to the idle job.
}

// They may wait for what they never get, and in their places no job of the new configuration would be asked for.
TEST_F(NoFleetTest, QueuedJobsOfAnEarlierConfigurationAreGivenBack) {
  ASSERT_TRUE(SetIt().ok());
  Wait(1);
  Take("17");
  request_.mutable_config()->set_maximum(3);  // Its jobs stay as they are.
  ASSERT_TRUE(SetIt().ok());
  EXPECT_TRUE(Look().cancel.empty());
  request_.mutable_config()->mutable_slurm()->set_time_limit_minutes(30);
  ASSERT_TRUE(SetIt().ok());
  const FleetStep step = Look();
  EXPECT_THAT(step.cancel, ElementsAre("17"));
  EXPECT_TRUE(step.submit.has_value());
}

TEST_F(NoFleetTest, KeepsItsIdWhereItsFolderIsMovedAndGetsAnotherOneInACopy) {
  ASSERT_TRUE(SetIt().ok());
  Wait(4);
  ASSERT_TRUE(Look().submit.has_value());
  options_.new_id = "a1b2c3d4";
  Restart("/moved");
  EXPECT_EQ(fleet_.submissions.size(), 1u);
  EXPECT_EQ(row_->id + row_->home, "3fa9c1d2/moved");
  // Its submission is not asked about: what runs under the earlier name is not its own.
  Restart("/copy", /*copied=*/true);
  EXPECT_TRUE(fleet_.submissions.empty());
  EXPECT_EQ(row_->id + row_->home, "a1b2c3d4/copy");
  EXPECT_EQ(Rows(), "1|2|LOST|\n");
  EXPECT_EQ(rows_[1].message,
            "the database was copied: its jobs are of the fleet 3fa9c1d2, and they stay with the coordinator "
            "of /moved");
}

TEST_F(FleetTest, TakenOutOfTheConfigurationItIsStoppedAndRunsOnceItIsBack) {
  const auto config = std::exchange(options_.config, std::nullopt);
  for (int start = 0; start < 2; ++start) {
    Restart();
    EXPECT_TRUE(row_->stopped);
  }
  options_.config = config;
  Restart();
  EXPECT_FALSE(row_->stopped);
  EXPECT_EQ(row_->id, "3fa9c1d2");
}

TEST_F(FleetTest, OfTheConfigurationItIsNotReplaced) {
  v1::SetFleetRequest request;
  *request.mutable_config() = SmallFleet();
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask(&SetFleet, request, "3fa9c1d2").status()));
}

TEST_F(FleetTest, PeopleScaleAndStopItAndARestartKeepsBoth) {
  Wait(40);
  v1::ScaleFleetRequest scale;
  scale.set_maximum(3);
  EXPECT_EQ(Ask(&ScaleFleet, scale)->maximum(), 3u);
  Take("17");
  EXPECT_EQ(queue_.size(), 3u);
  Restart();
  Look();
  const auto stopped = Ask(&StopFleet, v1::StopFleetRequest()).value();
  EXPECT_EQ(stopped.queued(), 3u);
  EXPECT_THAT(DrainOf(fleet_).jobs, ElementsAre("17_0", "17_1", "17_2"));
  Restart();
  EXPECT_EQ(Look().cancel.size(), 3u);
  queue_.clear();
  EXPECT_FALSE(Look().submit.has_value());
  EXPECT_THAT(Reasons(), testing::Contains("the fleet is stopped (inlier fleet stop --resume)"));
  Stop(/*resume=*/true);
  EXPECT_EQ(Look().submit->jobs, 3u);
}

}  // namespace
}  // namespace inlier
