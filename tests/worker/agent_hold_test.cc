// Attempts while the coordinator does not answer for longer than the lease: real children that stand still,
// go on, or are killed as they stand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "base/file.h"
#include "tests/worker/process_state.h"
#include "tests/worker/worker_rig.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using State = CoordinatorStandIn::State;

class AgentHoldTest : public testing::Test {
 protected:
  AgentHoldTest() : coordinator_({.ttl_ms = 1000, .next_sync_ms = 100}) {}

  void StartWorker(const std::string& behaviour, RigSettings settings = {}) {
    rig_ = std::make_unique<WorkerRig>(folder_.path(), coordinator_.address(), settings);
    rig_->SetBehaviour(behaviour);
  }
  bool WaitForLog(const std::string& text) {
    return coordinator_.WaitFor([&](const State& state) {
      for (const v1::TrialEvent& event : state.EventsOf(1)) {
        if (event.log().text() == text) return true;
      }
      return false;
    });
  }
  // Runs token 1 until its child hangs; the child's number, which only the worker's log has else.
  pid_t HangingChild() {
    coordinator_.Assign(TrainAssignment(1));
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
  // The same, and the coordinator is silent until the child stands still.
  pid_t SuspendedChild() {
    const pid_t child = HangingChild();
    coordinator_.SetSilent(true);
    EXPECT_TRUE(StandsStillSoon(child));
    return child;
  }
  std::string AttemptLog() {
    return ReadFile(folder_.path() / "attempts/train-stage/1/log.txt").value_or("");
  }

  TemporaryFolder folder_;
  CoordinatorStandIn coordinator_;
  std::unique_ptr<WorkerRig> rig_;
};

TEST_F(AgentHoldTest, ASuspendedAttemptIsReportedAndGoesOnToItsResultWhenItIsDesiredAgain) {
  StartWorker("gate");
  const Timestamp start = MonotonicNow();
  const pid_t child = SuspendedChild();
  ASSERT_TRUE(coordinator_.WaitFor([](const State& state) {
    return state.last().attempts_size() == 1 && state.last().attempts(0).suspended();
  }));
  EXPECT_EQ(coordinator_.state().last().attempts(0).token(), 1u);
  EXPECT_FALSE(coordinator_.state().last().attempts(0).stopping());
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_suspended 1"));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_slots_busy 1"));
  std::ofstream(folder_.path() / "data/fake_trial.go") << "go";
  EXPECT_EQ(StateOf(child), 'T');

  coordinator_.SetSilent(false);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].kind(), v1::Outcome::SUCCEEDED)
      << coordinator_.state().outcomes[1].message();
  int points = 0;
  double stood_still_ms = 0;
  for (const v1::TrialEvent& event : coordinator_.state().EventsOf(1)) {
    points += event.has_measurement() && !event.measurement().final();
    if (event.log().text().rfind("stood still ", 0) == 0)
      stood_still_ms = std::atof(event.log().text().c_str() + std::strlen("stood still "));
  }
  EXPECT_EQ(points, 10);
  // It knows for how long, so that it does not count that as its own.
  EXPECT_GT(stood_still_ms, 0);
  EXPECT_LT(stood_still_ms, 1000 * ToSeconds(MonotonicNow() - start));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_started_total 1"));
  EXPECT_TRUE(rig_->WaitForMetric("inlier_worker_attempts_suspended 0"));
  EXPECT_THAT(AttemptLog(), HasSubstr("goes on after"));
}

TEST_F(AgentHoldTest, AnAttemptMayBeSuspendedMoreThanOnce) {
  StartWorker("gate");
  const pid_t child = SuspendedChild();
  coordinator_.SetSilent(false);
  ASSERT_TRUE(ComesTo(child, "SR"));
  coordinator_.SetSilent(true);
  ASSERT_TRUE(StandsStillSoon(child));
  std::ofstream(folder_.path() / "data/fake_trial.go") << "go";
  coordinator_.SetSilent(false);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].kind(), v1::Outcome::SUCCEEDED);
}

TEST_F(AgentHoldTest, ASuspendedAttemptThatIsNotDesiredIsKilledAsItStands) {
  StartWorker("hang");  // Would say so if it ran to hear of SIGTERM.
  const pid_t child = SuspendedChild();
  coordinator_.Withdraw(1, "fenced: the lease ran out");
  coordinator_.SetSilent(false);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].failure(), v1::PREEMPTED);
  EXPECT_EQ(coordinator_.state().outcomes[1].message(), "stopped by its worker: fenced: the lease ran out");
  EXPECT_TRUE(IsGoneSoon(child));
  // Its slot is free.
  rig_->SetBehaviour("");
  coordinator_.Assign(TrainAssignment(2, 2));
  ASSERT_TRUE(coordinator_.WaitForOutcome(2));
  EXPECT_EQ(coordinator_.state().outcomes[2].kind(), v1::Outcome::SUCCEEDED);
}

TEST_F(AgentHoldTest, ATokenThatNamesAnotherStageNowDoesNotBringASuspendedAttemptBack) {
  StartWorker("hang");
  const pid_t child = SuspendedChild();
  v1::Assignment other = TrainAssignment(1);
  other.set_stage_id("stage-of-a-database-made-anew");
  coordinator_.Assign(other);
  coordinator_.SetSilent(false);
  EXPECT_TRUE(IsGoneSoon(child));
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].message(),
            "stopped by its worker: the coordinator does not want it any more");
}

TEST_F(AgentHoldTest, AWorkerThatEndsKillsItsSuspendedAttemptsWithoutLettingThemRun) {
  StartWorker("hang");
  const pid_t child = SuspendedChild();
  // The lease is over, not only near its end.
  ASSERT_TRUE(rig_->WaitForMetric("inlier_worker_fenced_total 1"));
  rig_->Drain();
  const std::optional<absl::Status> ended = rig_->WaitForEnd();
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->ok()) << *ended;
  EXPECT_TRUE(IsGoneSoon(child));
  rig_.reset();
  coordinator_.SetSilent(false);
  RigSettings settings;
  settings.incarnation = "second";
  StartWorker("hang", settings);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].failure(), v1::PREEMPTED);
  EXPECT_THAT(coordinator_.state().outcomes[1].message(),
              HasSubstr("stopped by its worker: the worker is ending"));
}

TEST_F(AgentHoldTest, WhoIsKeptForLongerThanTheLimitIsLost) {
  RigSettings settings;
  settings.hold = std::chrono::milliseconds(200);
  StartWorker("hang", settings);
  const pid_t child = HangingChild();
  coordinator_.SetSilent(true);
  ASSERT_TRUE(coordinator_.WaitFor([](const State& state) { return state.last().attempts_size() == 0; }));
  EXPECT_TRUE(IsGoneSoon(child));
  coordinator_.SetSilent(false);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].failure(), v1::LOST);
  EXPECT_EQ(coordinator_.state().outcomes[1].message(),
            "stopped by its worker: no answer from the coordinator for 0.2 s (hold_seconds)");
}

TEST_F(AgentHoldTest, WhoHoldsALockForWhichOthersMayWaitEndsWithTheLease) {
  StartWorker("locked");
  const pid_t child = HangingChild();
  coordinator_.SetSilent(true);
  EXPECT_TRUE(IsGoneSoon(child));
  coordinator_.SetSilent(false);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].failure(), v1::LOST);
  EXPECT_THAT(coordinator_.state().outcomes[1].message(), HasSubstr("no answer from the coordinator"));
}

TEST_F(AgentHoldTest, NoChildIsStartedWithoutALeaseAndItIsWhenTheLeaseIsBack) {
  RigSettings settings;
  settings.artifact_wait = std::chrono::minutes(2);
  StartWorker("", settings);
  const std::string sha = Sha256Hex("weights");
  coordinator_.Assign(EvaluateAssignment(1, sha));
  // It waits for its model when the answers stop.
  ASSERT_TRUE(coordinator_.WaitFor([](const State& state) { return state.last().attempts_size() == 1; }));
  coordinator_.SetSilent(true);
  ASSERT_TRUE(coordinator_.WaitFor([](const State& state) {
    return state.last().attempts_size() == 1 && state.last().attempts(0).suspended();
  }));
  fs::create_directories(folder_.path() / "artifacts");
  ASSERT_TRUE(WriteFileAtomically(folder_.path() / "artifacts" / (sha + ".safetensors"), "weights").ok());
  const size_t syncs = coordinator_.state().syncs.size();
  ASSERT_TRUE(coordinator_.WaitFor([&](const State& state) { return state.syncs.size() > syncs + 3; }));
  EXPECT_EQ(coordinator_.state().last().events_size(), 0);
  coordinator_.SetSilent(false);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].kind(), v1::Outcome::SUCCEEDED);
}

TEST_F(AgentHoldTest, AChildThatIsKilledWhileItStandsStillIsACrashAndNotForgotten) {
  StartWorker("hang");
  const pid_t child = SuspendedChild();
  ::kill(child, SIGKILL);
  coordinator_.SetSilent(false);
  ASSERT_TRUE(coordinator_.WaitForOutcome(1));
  EXPECT_EQ(coordinator_.state().outcomes[1].failure(), v1::CRASHED);
}

}  // namespace
}  // namespace inlier
