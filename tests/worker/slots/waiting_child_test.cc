// Children that wait for the next evaluation: the worker against a fake coordinator, with real children (fake_trial).
#include "worker/slots/waiting_child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/worker/agent_fixture.h"
#include "tests/worker/process_state.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

class WaitingChildTest : public AgentTest {
 protected:
  WaitingChildTest() {
    StartWorker({.slots = 2});
    coordinator_->Run(TrainAssignment(1, 3));
    model_ = coordinator_->state().CheckpointOf(1);
  }
  // Runs an evaluation with a result; its process.
  pid_t Evaluate(std::uint64_t token, std::uint32_t slot = 0) {
    EXPECT_TRUE(Succeeded(coordinator_->Run(EvaluateAssignment(token, model_, slot))));
    return ProcessOf(token);
  }
  pid_t ProcessOf(std::uint64_t token) {
    for (const v1::TrialEvent& event : coordinator_->state().EventsOf(token)) {
      if (event.has_started()) return static_cast<pid_t>(event.started().pid());
    }
    ADD_FAILURE() << "attempt " << token << " has not started";
    return -1;
  }

  std::string model_;
};

TEST_F(WaitingChildTest, EvaluationsOfASlotShareAProcessAndKeepTheirEventsApart) {
  const pid_t first = Evaluate(2);
  EXPECT_EQ(Evaluate(3), first);
  EXPECT_EQ(Evaluate(4), first);
  for (const std::uint64_t token : {2, 3, 4}) {
    const auto events = coordinator_->state().EventsOf(token);
    ASSERT_EQ(events.size(), 6u) << token;  // Started, four measurements, the outcome.
    EXPECT_TRUE(events.front().has_started());
    EXPECT_TRUE(events.back().has_outcome());
    EXPECT_GT(events.back().outcome().peak_memory_mib(), 0u);
  }
  EXPECT_NE(ProcessOf(1), first);
  EXPECT_NE(Evaluate(5, /*slot=*/1), first);
}

TEST_F(WaitingChildTest, ATrainingStartsAfterTheWaitingChildHasEnded) {
  const pid_t waiting = Evaluate(2);
  EXPECT_NE(StateOf(waiting), '-');
  rig_->SetBehaviour("hang");
  coordinator_->Assign(TrainAssignment(3));
  ASSERT_TRUE(
      coordinator_->WaitFor([](const FakeCoordinator::State& state) { return !state.EventsOf(3).empty(); }));
  EXPECT_EQ(StateOf(waiting), '-');
}

TEST_F(WaitingChildTest, ATrainingThatIsStoppedBeforeTheWaitingChildHasEndedNeverStarts) {
  const pid_t waiting = Evaluate(2);
  ASSERT_EQ(::kill(waiting, SIGSTOP), 0);  // It ends when it is killed, after five seconds.
  rig_->SetBehaviour("hang");
  coordinator_->Assign(TrainAssignment(3));
  const auto is_prepared = [&] { return fs::exists(folder_ / "attempts/train-stage/3/spec.json"); };
  for (int i = 0; i < 1000 && !is_prepared(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(is_prepared());
  coordinator_->Withdraw(3, "cancelled");
  EXPECT_EQ(coordinator_->OutcomeOf(3).failure(), v1::PREEMPTED);
  for (const v1::TrialEvent& event : coordinator_->state().EventsOf(3)) EXPECT_FALSE(event.has_started());
}

TEST_F(WaitingChildTest, AChildThatDiedWhileItWaitedIsReplaced) {
  const pid_t waiting = Evaluate(2);
  ASSERT_EQ(::kill(waiting, SIGKILL), 0);
  ASSERT_TRUE(IsGoneSoon(waiting));
  EXPECT_NE(Evaluate(3), waiting);
}

// As the end of a job on a busy machine: the child has its SIGTERM, and the worker, which gives it an evaluation, has not.
TEST_F(WaitingChildTest, AnEvaluationOfAChildThatIsToldToEndIsPreempted) {
  const pid_t waiting = Evaluate(2);
  ASSERT_TRUE(ComesTo(waiting, "S"));
  ASSERT_EQ(::kill(waiting, SIGSTOP), 0);
  ASSERT_TRUE(ComesTo(waiting, "T"));
  ASSERT_EQ(::kill(waiting, SIGTERM), 0);
  const int input = ::open(("/proc/" + std::to_string(waiting) + "/fd/0").c_str(), O_RDONLY | O_NONBLOCK);
  coordinator_->Assign(EvaluateAssignment(3, model_));
  int unread = 0;
  for (int i = 0; i < 1000 && unread == 0; ++i) {
    ASSERT_EQ(::ioctl(input, FIONREAD, &unread), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::close(input);
  ASSERT_GT(unread, 0);
  ASSERT_EQ(::kill(waiting, SIGCONT), 0);
  const v1::Outcome outcome = coordinator_->OutcomeOf(3);
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED) << outcome.message();
}

TEST_F(WaitingChildTest, AChildThatWaitsInVainEnds) { EXPECT_TRUE(IsGoneSoon(Evaluate(2))); }

TEST_F(WaitingChildTest, AChildWhoseEvaluationFailedIsNotKept) {
  const pid_t first = Evaluate(2);
  rig_->SetBehaviour("fail");
  EXPECT_EQ(coordinator_->Run(EvaluateAssignment(3, model_)).failure(), v1::CRASHED);
  rig_->SetBehaviour("");
  EXPECT_NE(Evaluate(4), first);
}

TEST_F(WaitingChildTest, AStoppedEvaluationEndsItsProcess) {
  const pid_t first = Evaluate(2);
  rig_->SetBehaviour("hang");
  coordinator_->Assign(EvaluateAssignment(3, model_));
  ASSERT_TRUE(
      coordinator_->WaitFor([](const FakeCoordinator::State& state) { return !state.EventsOf(3).empty(); }));
  coordinator_->Withdraw(3, "cancelled");
  EXPECT_EQ(coordinator_->OutcomeOf(3).failure(), v1::PREEMPTED);
  EXPECT_TRUE(IsGoneSoon(first));
}

TEST_F(WaitingChildTest, AWaitingChildEndsWithItsWorker) {
  const pid_t waiting = Evaluate(2);
  rig_->Drain();
  EXPECT_EQ(rig_->WaitForEnd(), absl::OkStatus());
  EXPECT_EQ(StateOf(waiting), '-');
}

}  // namespace
}  // namespace inlier
