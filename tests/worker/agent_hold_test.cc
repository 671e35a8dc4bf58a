// Attempts while the coordinator does not answer for longer than the lease: real children run on, until an
// answer comes again or the hold is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "base/files/file.h"
#include "tests/worker/agent_fixture.h"
#include "tests/worker/process_state.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using State = FakeCoordinator::State;

class AgentHoldTest : public AgentTest {
 protected:
  AgentHoldTest() { StartCoordinator({.ttl_ms = 1000, .next_sync_ms = 100}); }

  void Start(const std::string& behaviour, RigSettings settings = {}) {
    StartWorker(settings).SetBehaviour(behaviour);
  }
  bool WaitForLog(const std::string& text) {
    return coordinator_->WaitFor([&](const State& state) {
      for (const v1::TrialEvent& event : state.EventsOf(1)) {
        if (event.log().text() == text) return true;
      }
      return false;
    });
  }
  // Runs token 1 until its child hangs; the child's number, which only the worker's log has else.
  pid_t HangingChild() {
    coordinator_->Assign(TrainAssignment(1));
    EXPECT_TRUE(WaitForLog("hanging"));
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      const std::string command = ReadFile(entry.path() / "cmdline").value_or("");
      if (command.find("fake_trial") == std::string::npos) continue;
      if (command.find((folder_.path() / "attempts/train-stage/1/").string()) != std::string::npos)
        return pid;
    }
    ADD_FAILURE() << "no child of token 1";
    return -1;
  }
  // The same, and the coordinator is silent until the lease is over.
  pid_t CutOffChild() {
    const pid_t child = HangingChild();
    coordinator_->SetSilent(true);
    EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_leases_lost_total 1"));
    return child;
  }
  // Lets a child with the behaviour "gate" train.
  void OpenGate() { std::ofstream(folder_.path() / "data/fake_trial.go") << "go"; }
  // Waits until the syncs, which the silent coordinator still sees, report no attempt.
  bool WaitForNoAttempt() {
    return coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 0; });
  }
  std::string AttemptLog() {
    return ReadFile(folder_.path() / "attempts/train-stage/1/log.txt").value_or("");
  }
};

TEST_F(AgentHoldTest, ACutOffAttemptRunsOnToItsResultWhichArrivesAfterTheCut) {
  Start("gate");
  CutOffChild();
  OpenGate();
  // It trains, ends and is kept in the outbox; the coordinator has not answered yet.
  ASSERT_TRUE(WaitForNoAttempt());
  EXPECT_EQ(coordinator_->state().outcomes.count(1), 0u);
  coordinator_->SetSilent(false);
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(1)));
  int points = 0;
  for (const v1::TrialEvent& event : coordinator_->state().EventsOf(1)) {
    points += event.has_measurement() && !event.measurement().final();
  }
  EXPECT_EQ(points, 10);
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_started_total 1"));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_outbox_events 0"));
}

TEST_F(AgentHoldTest, ACutOffAttemptIsReportedAsBeforeAndAdoptedWhenItIsStillDesired) {
  Start("gate");
  const pid_t child = CutOffChild();
  EXPECT_THAT(std::string("SR"), HasSubstr(std::string(1, StateOf(child))));
  EXPECT_EQ(coordinator_->state().last().attempts(0).token(), 1u);
  EXPECT_FALSE(coordinator_->state().last().attempts(0).stopping());
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_slots_busy 1"));
  coordinator_->SetSilent(false);
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_reconnects_total 1"));
  // And cut off once more.
  coordinator_->SetSilent(true);
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_leases_lost_total 2"));
  coordinator_->SetSilent(false);
  OpenGate();
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(1)));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_started_total 1"));
}

TEST_F(AgentHoldTest, ACoordinatorThatStartsAgainAfterTheLeaseFindsTheSameAttemptRunning) {
  const std::string address = coordinator_->address();
  Start("gate");
  coordinator_->Assign(TrainAssignment(1));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return !state.EventsOf(1).empty(); }));
  coordinator_.reset();
  ASSERT_TRUE(rig_->WaitForMetric("inlier_worker_leases_lost_total 1"));
  coordinator_ = std::make_unique<FakeCoordinator>(FakeCoordinator::Settings{}, address);
  coordinator_->Assign(TrainAssignment(1));
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 1; }));
  EXPECT_FALSE(coordinator_->state().last().attempts(0).stopping());
  OpenGate();
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(1)));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_started_total 1"));
}

TEST_F(AgentHoldTest, AnAttemptWhoseStageWasLeasedElsewhereIsAskedToEnd) {
  Start("hang");
  const pid_t child = CutOffChild();
  coordinator_->Withdraw(1, "fenced: the lease ran out");
  coordinator_->SetSilent(false);
  const v1::Outcome outcome = coordinator_->OutcomeOf(1);
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED);
  EXPECT_EQ(outcome.message(), "stopped by a signal");
  EXPECT_THAT(AttemptLog(), HasSubstr("stopping: fenced: the lease ran out"));
  EXPECT_TRUE(IsGoneSoon(child));
  // Its slot is free.
  rig_->SetBehaviour("");
  EXPECT_TRUE(Succeeded(coordinator_->Run(TrainAssignment(2, 2))));
}

TEST_F(AgentHoldTest, ATokenThatNamesAnotherStageNowDoesNotKeepAnAttempt) {
  Start("stubborn", {.stop_grace = std::chrono::milliseconds(100)});
  const pid_t child = CutOffChild();
  v1::Assignment other = TrainAssignment(1);
  other.set_stage_id("stage-of-another-database");
  coordinator_->Assign(other);
  coordinator_->SetSilent(false);
  EXPECT_TRUE(IsGoneSoon(child));
  EXPECT_EQ(coordinator_->OutcomeOf(1).message(),
            "stopped by its worker: the coordinator does not want it any more");
}

TEST_F(AgentHoldTest, AWorkerThatEndsWithoutALeaseAsksItsAttemptsToEndAndTheNextWorkerReportsThem) {
  Start("hang");
  const pid_t child = CutOffChild();
  rig_->Drain();
  EXPECT_EQ(rig_->WaitForEnd(), absl::OkStatus());
  EXPECT_TRUE(IsGoneSoon(child));
  rig_.reset();
  coordinator_->SetSilent(false);
  Start("hang", {.incarnation = "second"});
  const v1::Outcome outcome = coordinator_->OutcomeOf(1);
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED);
  EXPECT_EQ(outcome.message(), "stopped by a signal");
}

TEST_F(AgentHoldTest, WhenTheHoldIsOverAttemptsAreAskedToEnd) {
  Start("hang", {.hold = std::chrono::milliseconds(200)});
  const pid_t child = CutOffChild();
  ASSERT_TRUE(WaitForNoAttempt());
  EXPECT_TRUE(IsGoneSoon(child));
  coordinator_->SetSilent(false);
  const v1::Outcome outcome = coordinator_->OutcomeOf(1);
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED);
  EXPECT_EQ(outcome.message(), "stopped by a signal");
}

TEST_F(AgentHoldTest, AnAttemptThatDoesNotEndWhenTheHoldIsOverIsKilledAndLost) {
  Start("stubborn", {.stop_grace = std::chrono::milliseconds(100), .hold = std::chrono::milliseconds(200)});
  const pid_t child = CutOffChild();
  EXPECT_TRUE(IsGoneSoon(child));
  coordinator_->SetSilent(false);
  const v1::Outcome outcome = coordinator_->OutcomeOf(1);
  EXPECT_EQ(outcome.failure(), v1::LOST);
  EXPECT_EQ(outcome.message(),
            "stopped by its worker: no answer from the coordinator for 0.2 s after the lease (hold_seconds)");
}

TEST_F(AgentHoldTest, NoChildIsStartedWithoutALeaseAndItIsWhenTheLeaseIsBack) {
  Start("", {.artifact_wait = std::chrono::minutes(2)});
  const std::string sha = Sha256Hex("weights");
  coordinator_->Assign(EvaluateAssignment(1, sha));
  // It waits for its model when the answers stop.
  ASSERT_TRUE(coordinator_->WaitFor([](const State& state) { return state.last().attempts_size() == 1; }));
  coordinator_->SetSilent(true);
  ASSERT_TRUE(rig_->WaitForMetric("inlier_worker_leases_lost_total 1"));
  fs::create_directories(folder_.path() / "artifacts");
  ASSERT_TRUE(WriteFileAtomically(folder_.path() / "artifacts" / (sha + ".safetensors"), "weights").ok());
  ASSERT_TRUE(coordinator_->WaitForSyncs(4));
  EXPECT_EQ(coordinator_->state().last().events_size(), 0);
  coordinator_->SetSilent(false);
  EXPECT_TRUE(Succeeded(coordinator_->OutcomeOf(1)));
}

TEST_F(AgentHoldTest, AChildThatIsKilledWithoutALeaseIsReportedAsACrash) {
  Start("hang");
  const pid_t child = CutOffChild();
  ::kill(child, SIGKILL);
  ASSERT_TRUE(WaitForNoAttempt());
  coordinator_->SetSilent(false);
  EXPECT_EQ(coordinator_->OutcomeOf(1).failure(), v1::CRASHED);
}

// The token of its attempt is another attempt's in the new database: its events must not become that one's.
TEST_F(AgentHoldTest, AWorkerWhoseCoordinatorHasAnotherDatabaseEndsAndKeepsItsEventsApart) {
  coordinator_->SetDatabase("first");
  Start("hang");
  HangingChild();
  coordinator_->SetCommitting(false);
  coordinator_->SetDatabase("second");
  EXPECT_EQ(std::string(rig_->WaitForEnd().message()), "the coordinator has another database now");
  for (const v1::NumberedEvent& event : rig_->outbox().Pending(0, 1000, 1 << 20))
    EXPECT_EQ(event.database_id(), "first");
}

}  // namespace
}  // namespace inlier
