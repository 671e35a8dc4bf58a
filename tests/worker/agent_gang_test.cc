// Attempts of several processes: the worker against a fake coordinator, with real children (fake_trial).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "base/files/file.h"
#include "google/protobuf/util/json_util.h"
#include "tests/worker/agent_fixture.h"
#include "tests/worker/process_state.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using State = FakeCoordinator::State;

// A training on slots 0 to `ranks` - 1.
v1::Assignment GangAssignment(std::uint64_t token, std::uint32_t ranks, std::uint32_t steps = 5) {
  v1::Assignment assignment = TrainAssignment(token, steps);
  for (std::uint32_t slot = 1; slot < ranks; ++slot) assignment.add_further_slots(slot);
  return assignment;
}

class AgentGangTest : public AgentTest {
 protected:
  fs::path Attempt(std::uint64_t token) const {
    return folder_.path() / "attempts/train-stage" / std::to_string(token);
  }
  v1::AttemptSpec SpecAt(const fs::path& folder) const {
    v1::AttemptSpec spec;
    const std::string json = ReadFile(folder / "spec.json").value();
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &spec).ok());
    return spec;
  }

  // Rank 1 of an attempt with token 1 dies: the attempt ends with its reason, which is returned, and frees its slots.
  std::string ReasonWhereRankOneDies() {
    rig_->SetBehaviour("rank_1_dies");
    const v1::Outcome outcome = coordinator_->Run(GangAssignment(1, 3));
    EXPECT_EQ(outcome.failure(), v1::CRASHED);
    EXPECT_THAT(outcome.message(),
                AllOf(HasSubstr("rank 1 of 3 on "), HasSubstr(": the trial was killed by signal 11")));
    EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_slots_busy 0")) << rig_->MetricsText();
    return outcome.message();
  }
};

TEST_F(AgentGangTest, EveryRankHasAPlaceAndRankZeroReports) {
  StartWorker({.slots = 3});
  v1::Assignment assignment = GangAssignment(1, 3);
  assignment.set_shard_optimizer(true);
  EXPECT_TRUE(Succeeded(coordinator_->Run(assignment)));
  const auto events = coordinator_->state().EventsOf(1);
  ASSERT_EQ(events.size(), 9u)
      << "of one process: started, five points, a result, the checkpoint, the outcome";
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const v1::AttemptSpec spec =
        SpecAt(rank == 0 ? Attempt(1) : Attempt(1) / ("rank-" + std::to_string(rank)));
    EXPECT_EQ(spec.gang().rank(), rank);
    EXPECT_EQ(spec.gang().processes(), 3u);
    EXPECT_TRUE(spec.gang().shard_optimizer());
    EXPECT_EQ(spec.gang().meeting(), (Attempt(1) / "meeting").string());
    EXPECT_EQ(spec.output_dir(), Attempt(1).string());
  }
}

TEST_F(AgentGangTest, ARankThatDiesEndsTheAttemptWithItsReason) {
  WorkerRig& rig = StartWorker({.slots = 3});
  EXPECT_THAT(ReasonWhereRankOneDies(), HasSubstr("last words of rank 1"));
  rig.SetBehaviour("");
  EXPECT_TRUE(Succeeded(coordinator_->Run(GangAssignment(2, 3))));
}

TEST_F(AgentGangTest, AllRanksStopOnRequest) {
  WorkerRig& rig = StartWorker({.slots = 2});
  rig.SetBehaviour("hang");
  coordinator_->Assign(GangAssignment(1, 2));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return !state.EventsOf(1).empty(); }));
  EXPECT_TRUE(rig.WaitForMetric("inlier_worker_slots_busy 2")) << rig.MetricsText();
  ASSERT_EQ(coordinator_->state().last().attempts_size(), 1);
  EXPECT_THAT(coordinator_->state().last().attempts(0).further_slots(), testing::ElementsAre(1u));
  coordinator_->Withdraw(1, "cancelled");
  EXPECT_EQ(coordinator_->OutcomeOf(1).failure(), v1::PREEMPTED);
  EXPECT_TRUE(rig.WaitForMetric("inlier_worker_slots_busy 0"));
}

// The ranks of fake_trial never meet: the others do not notice it.
TEST_F(AgentGangTest, ARankThatIsAskedToEndByAnotherProgramEndsTheAttemptAsYielded) {
  WorkerRig& rig = StartWorker({.slots = 2, .stop_grace = std::chrono::seconds(1)});
  rig.SetBehaviour("hang");
  coordinator_->Assign(GangAssignment(1, 2));
  ASSERT_TRUE(coordinator_->WaitFor([&](const State& state) { return !state.EventsOf(1).empty(); }));
  const pid_t rank = ProcessThatCatchesSigterm(Attempt(1) / "rank-1" / "spec.json");
  ASSERT_GT(rank, 0);
  ASSERT_EQ(::kill(rank, SIGTERM), 0);
  const v1::Outcome outcome = coordinator_->OutcomeOf(1);
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED) << outcome.message();
  EXPECT_THAT(outcome.message(), HasSubstr("rank 1 of 2 on cpu: "));
}

TEST_F(AgentGangTest, ARankThatYieldsToTheWorkersStopDoesNotHideItsReason) {
  WorkerRig& rig = StartWorker({.slots = 2, .stop_grace = std::chrono::seconds(1)});
  rig.SetBehaviour("rank_0_stubborn");
  coordinator_->Assign(GangAssignment(1, 2));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return !state.EventsOf(1).empty(); }));
  ASSERT_GT(ProcessThatCatchesSigterm(Attempt(1) / "rank-1" / "spec.json"), 0);
  coordinator_->Withdraw(1, "cancelled");
  EXPECT_THAT(coordinator_->OutcomeOf(1).message(), HasSubstr("stopped by its worker: cancelled"));
}

TEST_F(AgentGangTest, RanksOfAFurtherMachineHaveItsAddressAndAreStartedThere) {
  StartWorker({.slots = 1, .slots_elsewhere = 1});
  EXPECT_TRUE(Succeeded(coordinator_->Run(GangAssignment(1, 2))));
  EXPECT_TRUE(SpecAt(Attempt(1)).gang().has_address());
  EXPECT_EQ(SpecAt(Attempt(1) / "rank-1").gang().address(), "127.0.0.2");
  EXPECT_TRUE(fs::exists(Attempt(1) / "rank-1/start.sh"));
  EXPECT_FALSE(fs::exists(Attempt(1) / "start.sh"));
}

TEST_F(AgentGangTest, ARankOfAFurtherMachineThatDiesEndsTheAttemptWithItsReason) {
  StartWorker({.slots = 1, .slots_elsewhere = 2});
  EXPECT_THAT(ReasonWhereRankOneDies(), testing::Not(HasSubstr("start.sh")));
}

TEST_F(AgentGangTest, EvaluationsOnAFurtherMachineHaveAChildEach) {
  StartWorker({.slots = 1, .slots_elsewhere = 1});
  ASSERT_TRUE(Succeeded(coordinator_->Run(TrainAssignment(1, 5, /*slot=*/1))));
  const std::string sha256 = coordinator_->state().CheckpointOf(1);
  for (const std::uint64_t token : {2u, 3u}) {
    EXPECT_TRUE(Succeeded(coordinator_->Run(EvaluateAssignment(token, sha256, /*slot=*/1))));
  }
}

TEST_F(AgentGangTest, AGangWaitsUntilAllOfItsSlotsAreFree) {
  WorkerRig& rig = StartWorker({.slots = 2});
  rig.SetBehaviour("gate");
  coordinator_->Assign(TrainAssignment(1, 5, /*slot=*/1));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return !state.EventsOf(1).empty(); }));
  coordinator_->Assign(GangAssignment(2, 2));
  ASSERT_TRUE(coordinator_->WaitForSyncs(4));
  EXPECT_EQ(coordinator_->state().last().attempts_size(), 1) << "one slot is taken";
  std::ofstream(folder_.path() / "data" / "fake_trial.go") << "go";
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(2)));
}

}  // namespace
}  // namespace inlier
