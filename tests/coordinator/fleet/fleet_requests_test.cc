// Requests of people about a fleet, and a fleet that its configuration makes or leaves out.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "coordinator/fleet/fleet.h"
#include "tests/coordinator/fleet/fleet_config.h"
#include "tests/coordinator/fleet/fleet_options.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

FleetStep Look(Harness& harness, std::vector<EngineJob> queue) {
  Effects effects;
  EngineLook look{.began = harness.now().at};
  look.jobs = std::move(queue);
  FleetStep step = harness.orchestrator().OnFleetLook(look, harness.now(), true, effects);
  harness.Commit(std::move(effects));
  return step;
}

TEST(FleetRequestsTest, WithoutAFleetOneIsMadeStoredAndReplaced) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.new_fleet_id = "3fa9c1d2";
  Harness harness(options);
  EXPECT_TRUE(absl::IsNotFound(harness.Ask(&Orchestrator::OnStopFleet, v1::StopFleetRequest()).status()));
  v1::SetFleetRequest request;
  *request.mutable_config() = SmallFleet();
  const auto made = harness.Ask(&Orchestrator::OnSetFleet, request);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->id(), "3fa9c1d2");
  harness.Crash();
  EXPECT_EQ(harness.orchestrator().state().fleet.config.slurm().partition(), "gpu");
  request.mutable_config()->mutable_slurm()->set_partition("$(id)");
  EXPECT_TRUE(absl::IsInvalidArgument(harness.Ask(&Orchestrator::OnSetFleet, request).status()));
  request.mutable_config()->mutable_slurm()->set_partition("cpu");
  ASSERT_TRUE(harness.Ask(&Orchestrator::OnSetFleet, request).ok());
  EXPECT_EQ(harness.orchestrator().state().fleet.config.slurm().partition(), "cpu");
}

// They run as the coordinator's user, on its machine.
TEST(FleetRequestsTest, ProgramsOfTheCoordinatorComeFromItsConfigurationAlone) {
  Harness harness(Harness::DefaultOptions());
  for (const char* field : {"programs", "conf"}) {
    v1::SetFleetRequest request;
    *request.mutable_config() = SmallFleet();
    v1::SlurmConfig& slurm = *request.mutable_config()->mutable_slurm();
    slurm.GetReflection()->SetString(&slurm, slurm.GetDescriptor()->FindFieldByName(field), "/home/eve");
    const absl::Status refused = harness.Ask(&Orchestrator::OnSetFleet, request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_NE(refused.message().find(std::string("fleet.slurm.") + field +
                                     ": it decides what the coordinator runs"),
              std::string::npos)
        << refused;
  }
  EXPECT_FALSE(harness.orchestrator().state().fleet.row);
}

// Else a fleet that was made larger would count the slots of its old jobs, and never ask for a new one.
TEST(FleetRequestsTest, TheSlotsOfItsEarlierJobsAreNotThoseOfAFleetThatIsReplaced) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.new_fleet_id = "3fa9c1d2";
  Harness harness(options);
  v1::SetFleetRequest request;
  *request.mutable_config() = SmallFleet();
  ASSERT_TRUE(harness.Ask(&Orchestrator::OnSetFleet, request).ok());
  HandWorker worker("w", 2);
  worker.fields().set_job("17");
  harness.Sync(worker);
  const std::vector<EngineJob> queue = {{.id = "17", .submission = 1, .phase = EngineJob::Phase::kRunning}};
  Look(harness, queue);
  EXPECT_EQ(harness.orchestrator().state().fleet.slots.size(), 2u);
  request.mutable_config()->set_slots(8);
  ASSERT_TRUE(harness.Ask(&Orchestrator::OnSetFleet, request).ok());
  harness.Submit(SmallSweep("many", 32));
  const FleetStep step = Look(harness, queue);
  ASSERT_TRUE(step.submit.has_value());
  EXPECT_EQ(step.submit->jobs, 3u);  // Eight slots each, beside the job that is idle.
}

// They may wait for what they never get, and in their places no job of the new configuration would be asked for.
TEST(FleetRequestsTest, QueuedJobsOfAnEarlierConfigurationAreGivenBack) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.new_fleet_id = "3fa9c1d2";
  Harness harness(options);
  v1::SetFleetRequest request;
  *request.mutable_config() = SmallFleet();
  ASSERT_TRUE(harness.Ask(&Orchestrator::OnSetFleet, request).ok());
  harness.Submit(SmallSweep("one", 1));
  std::vector<EngineJob> queue;
  const FleetStep first = Look(harness, queue);
  ASSERT_TRUE(first.submit.has_value());
  Effects effects;
  harness.orchestrator().OnFleetSubmitted(
      {.number = first.submit->number, .kind = Submitted::Kind::kTaken, .job = "17"}, harness.now(), effects);
  harness.Commit(std::move(effects));
  queue = {
      {.id = "17", .submission = first.submit->number, .state = "PENDING", .reason = "PartitionTimeLimit"}};
  request.mutable_config()->set_maximum(3);  // Its jobs stay as they are.
  ASSERT_TRUE(harness.Ask(&Orchestrator::OnSetFleet, request).ok());
  EXPECT_TRUE(Look(harness, queue).cancel.empty());
  request.mutable_config()->mutable_slurm()->set_time_limit_minutes(30);
  ASSERT_TRUE(harness.Ask(&Orchestrator::OnSetFleet, request).ok());
  const FleetStep step = Look(harness, queue);
  EXPECT_EQ(step.cancel, std::vector<std::string>{"17"});
  ASSERT_TRUE(step.submit.has_value());
}

// The fleet after another coordinator has started from the database, in the folder `home`; `copied`: another folder has it, too.
Fleet Restarted(Harness& harness, const OrchestratorOptions& options, const std::string& home = "",
                bool copied = false) {
  auto snapshot = harness.Load();
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  if (!home.empty()) snapshot->home = home;
  snapshot->fleet_copied = copied;
  Orchestrator orchestrator(options);
  Effects effects;
  EXPECT_TRUE(orchestrator.Recover(*std::move(snapshot), harness.now(), effects).ok());
  harness.Commit(std::move(effects));
  return orchestrator.state().fleet;
}

TEST(FleetRequestsTest, AFleetThatIsTakenOutOfTheConfigurationIsStoppedAndRunsOnceItIsBack) {
  const OrchestratorOptions with = WithFleet(SmallFleet());
  Harness harness(with);
  const auto restarted = [&](const OrchestratorOptions& options) { return *Restarted(harness, options).row; };
  OrchestratorOptions without = with;
  without.fleet.reset();
  EXPECT_TRUE(restarted(without).stopped);
  EXPECT_TRUE(restarted(without).stopped);
  EXPECT_FALSE(restarted(with).stopped);
  EXPECT_EQ(restarted(with).id, "3fa9c1d2");
}

TEST(FleetRequestsTest, AFleetKeepsItsIdWhereItsFolderIsMovedAndGetsAnotherOneInACopy) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.new_fleet_id = "3fa9c1d2";
  Harness harness(options);
  v1::SetFleetRequest request;
  *request.mutable_config() = SmallFleet();
  ASSERT_TRUE(harness.Ask(&Orchestrator::OnSetFleet, request).ok());
  harness.Submit(SmallSweep("four", 4));
  ASSERT_TRUE(Look(harness, {}).submit.has_value());
  options.new_fleet_id = "a1b2c3d4";
  EXPECT_FALSE(Restarted(harness, options, "/moved").submissions.empty());
  EXPECT_EQ(harness.Query("SELECT id, home FROM fleet"), "3fa9c1d2|/moved\n");
  // Its submission is not asked about: what runs under the earlier name is not its own.
  EXPECT_TRUE(Restarted(harness, options, "/copy", /*copied=*/true).submissions.empty());
  EXPECT_EQ(harness.Query("SELECT id, home FROM fleet"), "a1b2c3d4|/copy\n");
  EXPECT_EQ(harness.Query("SELECT state, message FROM fleet_submission"),
            "LOST|the database was copied: its jobs are of the fleet 3fa9c1d2, and they stay with the "
            "coordinator of /moved\n");
}

}  // namespace
}  // namespace inlier
