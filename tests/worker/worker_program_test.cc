// The program itself as a person runs it: its arguments, its end, and its sudden death.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/files/file.h"
#include "base/run_program.h"
#include "base/time.h"
#include "base/version.h"
#include "tests/support/temporary_folder.h"
#include "tests/worker/fake_coordinator.h"
#include "tests/worker/process_state.h"
#include "tests/worker/program.h"
#include "worker/processes/trial_environment.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using State = FakeCoordinator::State;

ProgramEnd RunWorker(const std::vector<std::string>& arguments) {
  const auto ran = RunToEnd({.program = INLIER_WORKER_PROGRAM,
                             .arguments = arguments,
                             .environment = TrialEnvironment({}, {}),
                             .limit = std::chrono::seconds(60),
                             .output_bytes_max = 1 << 20,
                             .join_errors = true},
                            [] { return false; });
  EXPECT_TRUE(ran.ok()) << ran.status();
  return ran.value_or(ProgramEnd{});
}

class WorkerProgramTest : public testing::Test {
 protected:
  void Start(const std::string& coordinator, const std::vector<std::string>& more = {}) {
    fs::create_directories(folder_ / "data");
    program_ = std::make_unique<Program>(
        INLIER_WORKER_PROGRAM,
        std::vector<std::string>{"coordinator=" + coordinator, "state_dir=" + (folder_ / "state").string(),
                                 "data_dir=" + (folder_ / "data").string(),
                                 "trial_program=" INLIER_FAKE_TRIAL, "http_listen=127.0.0.1:0", "slots=1"},
        folder_ / "log", more);
  }
  std::string Log() { return program_->log(); }
  bool WaitForLog(const std::string& text) {
    const Timestamp deadline = MonotonicNow() + std::chrono::minutes(1);
    while (Log().find(text) == std::string::npos) {
      if (MonotonicNow() > deadline) return false;
      ::usleep(2000);
    }
    return true;
  }
  void SetBehaviour(const std::string& behaviour) {
    fs::create_directories(folder_ / "data");
    std::ofstream(folder_ / "data/fake_trial.behaviour") << behaviour;
  }
  // Assigns an attempt that hangs, waits until the child itself has reported it (its signal handlers are set
  // by then), and returns its pid.
  pid_t HangingChild(FakeCoordinator& coordinator, std::uint32_t slot = 0) {
    coordinator.Assign(TrainAssignment(1, 3, slot));
    EXPECT_TRUE(coordinator.WaitFor([](const State& state) {
      return std::any_of(state.syncs.begin(), state.syncs.end(),
                         [](const v1::WorkerSync& sync) { return sync.events_size() > 0; });
    })) << Log();
    const std::string log = Log();
    return std::atoi(log.c_str() + log.find(" pid=", log.find("attempt_started")) + 5);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Program> program_;
};

TEST_F(WorkerProgramTest, HelpVersionAndTheMetricsPageNeedNothing) {
  EXPECT_THAT(RunWorker({"--help"}).output, HasSubstr("--set path=value"));
  EXPECT_EQ(RunWorker({"--version"}).output, "inlier-worker " + BuildId() + "\n");
  EXPECT_THAT(RunWorker({"--metrics-reference"}).output, HasSubstr("| `inlier_worker_slots` | gauge |"));
}

TEST_F(WorkerProgramTest, BadArgumentsAndConfigurationsEndWithStatusTwoAndTheRemedy) {
  const auto message = [](const std::vector<std::string>& arguments) {
    const ProgramEnd ran = RunWorker(arguments);
    EXPECT_EQ(ran.HowText(), "it ended with status 2");
    return ran.output;
  };
  EXPECT_EQ(message({"--bogus"}), "inlier-worker: error: unknown argument '--bogus'; see --help\n");
  EXPECT_EQ(message({"--set", "slots"}), "inlier-worker: error: --set slots: expected path=value\n");
  EXPECT_EQ(message({"--config"}), "inlier-worker: error: --config needs a value; see --help\n");
  EXPECT_THAT(message({}), HasSubstr("state_dir"));
  EXPECT_THAT(message({"--set", "state_dir=/tmp/x", "--set", "slotz=1"}),
              HasSubstr("did you mean \"slots\"?"));
  EXPECT_THAT(message({"--set", "state_dir=/tmp/x", "--set", "slots=0"}), HasSubstr("slots"));
  std::ofstream(folder_ / "worker.yaml") << "state_dir: /tmp/x\nline_bytes_max: 5\n";
  EXPECT_THAT(message({"--config", (folder_ / "worker.yaml").string()}), HasSubstr("worker.yaml:2:"));
}

TEST_F(WorkerProgramTest, AnHttpPortInUseIsNamedWithTheRemedy) {
  FakeCoordinator coordinator({});
  const ProgramEnd ran =
      RunWorker({"--set", "state_dir=" + (folder_ / "state").string(), "--set",
                 "trial_program=" INLIER_FAKE_TRIAL, "--set", "http_listen=" + coordinator.address()});
  EXPECT_EQ(ran.HowText(), "it ended with status 1");
  EXPECT_THAT(ran.output,
              HasSubstr("http_listen: " + coordinator.address() + " is already in use; stop the program"));
}

TEST_F(WorkerProgramTest, SigtermDrainsDeliversAndLeavesNothingBehind) {
  FakeCoordinator coordinator({});
  SetBehaviour("hang");
  Start(coordinator.address());
  const pid_t child = HangingChild(coordinator);
  program_->Signal(SIGTERM);
  const int status = program_->WaitForEnd();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << Log();
  EXPECT_EQ(coordinator.state().outcomes.at(1).failure(), v1::PREEMPTED);
  EXPECT_EQ(::kill(child, 0), -1);
  EXPECT_TRUE(fs::is_empty(folder_ / "state/outbox"));
  EXPECT_THAT(Log(), HasSubstr("stopped reason=drained undelivered_events=0"));
}

TEST_F(WorkerProgramTest, ASecondSigtermEndsAtOnce) {
  FakeCoordinator coordinator({});
  SetBehaviour("stubborn");
  Start(coordinator.address(), {"--set", "stop_grace_ms=600000"});
  const pid_t child = HangingChild(coordinator);
  program_->Signal(SIGTERM);
  ASSERT_TRUE(WaitForLog("draining"));
  program_->Signal(SIGTERM);
  const int status = program_->WaitForEnd();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << Log();
  EXPECT_TRUE(IsGoneSoon(child)) << "the child outlived its worker";
}

TEST_F(WorkerProgramTest, ChildrenDieWithAKilledWorkerAndItsResultsAreDeliveredByTheNext) {
  auto coordinator = std::make_unique<FakeCoordinator>(FakeCoordinator::Settings{});
  // The coordinator commits nothing, so the killed worker's events stay undelivered.
  coordinator->SetCommitting(false);
  SetBehaviour("hang");
  Start(coordinator->address());
  const pid_t child = HangingChild(*coordinator);
  const std::string first = coordinator->state().last().incarnation();
  program_->Signal(SIGKILL);
  program_->WaitForEnd();
  ASSERT_TRUE(IsGoneSoon(child)) << "the child outlived its worker";
  coordinator->Withdraw(1, "lost");
  coordinator->SetCommitting(true);
  Start(coordinator->address());
  ASSERT_TRUE(coordinator->WaitFor([](const State& state) { return !state.events.empty(); }));
  EXPECT_EQ(coordinator->state().events[0].token(), 1u);
  EXPECT_EQ(coordinator->state().events[0].event().log().text(), "hanging");
  EXPECT_NE(coordinator->state().last().incarnation(), first);
  EXPECT_FALSE(fs::exists(folder_ / "state/outbox" / first));
}

TEST_F(WorkerProgramTest, HoldSecondsOfZeroEndsAttemptsWithTheLease) {
  auto coordinator = std::make_unique<FakeCoordinator>(FakeCoordinator::Settings{.ttl_ms = 1000});
  SetBehaviour("hang");
  Start(coordinator->address(), {"--set", "hold_seconds=0"});
  const pid_t child = HangingChild(*coordinator);
  coordinator.reset();
  EXPECT_TRUE(IsGoneSoon(child)) << Log();
  EXPECT_TRUE(WaitForLog("attempt_ended"));
  EXPECT_EQ(Log().find("lease_lost"), std::string::npos);
}

TEST_F(WorkerProgramTest, AttemptsOutliveTheLeaseByHoldSecondsAndAreThenAskedToEnd) {
  auto coordinator = std::make_unique<FakeCoordinator>(FakeCoordinator::Settings{.ttl_ms = 500});
  SetBehaviour("hang");
  Start(coordinator->address(), {"--set", "hold_seconds=1"});
  const pid_t child = HangingChild(*coordinator);
  coordinator.reset();
  ASSERT_TRUE(WaitForLog("lease_lost attempts=1"));
  EXPECT_TRUE(IsGoneSoon(child)) << Log();
  ASSERT_TRUE(WaitForLog("attempt_ended"));
  EXPECT_THAT(Log(), HasSubstr("message=\"stopped by a signal\""));
}

// The further machine is this one, reached by `env MACHINE=n2 …` in the place of ssh.
constexpr char kMachines[] =
    "memory_mib: 1000\nmachines:\n- {name: n2, address: 127.0.0.1, slots: 1}\nlaunch: [env, "
    "'MACHINE={machine}']\n";

TEST_F(WorkerProgramTest, ATrialRunsOnAFurtherMachineAndDiesWithTheKilledWorker) {
  FakeCoordinator coordinator({});
  SetBehaviour("hang");
  std::ofstream(folder_ / "worker.yaml") << kMachines;
  Start(coordinator.address(), {"--config", (folder_ / "worker.yaml").string()});
  HangingChild(coordinator, /*slot=*/1);
  const State state = coordinator.state();
  ASSERT_EQ(state.last().slots_size(), 2);
  EXPECT_EQ(state.last().slots(0).device(), "cpu");
  EXPECT_EQ(state.last().slots(1).device(), "cpu@n2");
  EXPECT_EQ(state.last().memory_mib(), 2000u);
  EXPECT_TRUE(fs::exists(folder_ / "state/attempts/train-stage/1/start.sh"));
  const pid_t trial = ProcessThatCatchesSigterm(folder_ / "state/attempts/train-stage/1/spec.json");
  ASSERT_GT(trial, 0) << Log();
  program_->Signal(SIGKILL);
  program_->WaitForEnd();
  EXPECT_TRUE(IsGoneSoon(trial)) << "the trial outlived its worker";
}

TEST_F(WorkerProgramTest, AMachineThatDoesNotAnswerIsNamedWithTheReason) {
  const auto message = [this](const std::string& config) {
    std::ofstream(folder_ / "worker.yaml") << config;
    fs::create_directories(folder_ / "data");
    return RunWorker({"--set", "state_dir=" + (folder_ / "state").string(), "--set",
                      "data_dir=" + (folder_ / "data").string(), "--set", "trial_program=" INLIER_FAKE_TRIAL,
                      "--config", (folder_ / "worker.yaml").string()})
        .output;
  };
  const std::string machines = "machines: [{name: n2, address: 127.0.0.1}]\n";
  EXPECT_THAT(message(machines + "launch: [sh, -c, 'echo no route to {machine}; exit 255']\n"),
              AllOf(HasSubstr("machine n2: sh: it ended with status 255; it printed: no route to n2"),
                    HasSubstr("true` must work for this user without a question")));
  EXPECT_THAT(message(machines + "launch: [echo, '{machine}']\n"),
              HasSubstr("machine n2: no report of a machine"));
  EXPECT_THAT(message("machines: [{name: n2, address: no-such-name.invalid}]\n"),
              HasSubstr("machine n2: 'no-such-name.invalid' has no IP address here"));
  EXPECT_THAT(message("machines: [{name: n2, address: 192.0.2.1}]\nlaunch: [env, 'MACHINE={machine}']\n"),
              HasSubstr("machines.address"));
  EXPECT_THAT(
      message("machines: [{name: n2, address: 127.0.0.1}, {name: n2}]\nlaunch: [env, 'MACHINE={machine}']\n"),
      HasSubstr("machines: n2 is there twice"));
  EXPECT_THAT(message("job_nodes: true\n"), HasSubstr("this is no job of Slurm"));
}

TEST_F(WorkerProgramTest, AnotherVersionEndsWithStatusOneAndBothVersions) {
  FakeCoordinator coordinator({.version = "9.9.9"});
  Start(coordinator.address());
  const int status = program_->WaitForEnd();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  EXPECT_THAT(Log(), HasSubstr("of version " + Version() + ", this coordinator of 9.9.9"));
}

}  // namespace
}  // namespace inlier
