// Trials on further machines. The machine is this one, reached by `env MACHINE=n2 …` in the place of ssh.
#include "worker/machines/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/time.h"
#include "tests/support/temporary_folder.h"
#include "tests/worker/process_state.h"
#include "tests/worker/processes/run_command.h"
#include "worker/processes/trial_process.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kWords = {"/usr/bin/env", "MACHINE=n2"};

class OnMachineTest : public testing::Test {
 protected:
  Command There(const std::string& script, std::vector<std::string> environment = {}) {
    environment.push_back("PATH=/usr/bin:/bin");
    const absl::StatusOr<Command> command = OnMachine(kWords, {.program = "/bin/sh",
                                                               .arguments = {"-c", script},
                                                               .environment = std::move(environment),
                                                               .working_folder = folder_.path().string()});
    EXPECT_TRUE(command.ok()) << command.status();
    return *command;
  }

  // `on_events` is called whenever it has written some.
  Ran Run(
      const Command& command, const std::function<void(TrialProcess&)>& on_events = [](TrialProcess&) {}) {
    return RunCommand(io_, command, {.on_events = on_events});
  }

  TemporaryFolder folder_;
  asio::io_context io_;
};

TEST_F(OnMachineTest, EventsLogAndStatusAreThoseOfTheTrial) {
  const Ran ran = Run(There("echo event >&3; echo out; echo err >&2; cat; exit 7"));
  EXPECT_EQ(ran.exit.status, 7);
  EXPECT_EQ(ran.exit.signal, 0);
  EXPECT_EQ(ran.events, "event\n");
  EXPECT_EQ(ran.output, "out\nerr\n");
  EXPECT_EQ(ran.exit.resident_bytes_max, 0) << "not that of the program between";
}

TEST_F(OnMachineTest, TheTrialHasItsOwnEnvironmentAndFolderAlone) {
  ::setenv("SECRET_OF_THE_WORKER", "x", 1);
  const Ran ran = Run(There("env | sort >&3; pwd >&3; ls /proc/self/fd | wc -l >&3",
                            {"ODD=it's \"odd\" $HOME `id` \\ ;\n#", "CUDA_VISIBLE_DEVICES="}));
  EXPECT_THAT(ran.events, HasSubstr("ODD=it's \"odd\" $HOME `id` \\ ;\n"));
  EXPECT_THAT(ran.events, testing::Not(HasSubstr("SECRET_OF_THE_WORKER")));
  EXPECT_THAT(ran.events, testing::Not(HasSubstr("MACHINE=")));
  EXPECT_THAT(ran.events, HasSubstr(absl::StrCat(folder_.path().string(), "\n5\n")))
      << "0 to 3, and that of ls";
  EXPECT_EQ(fs::status(folder_ / kStartScriptName).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OnMachineTest, ASignalGoesToTheTrialAndIsItsStatusWhereItDiesOfIt) {
  const auto terminate = [](TrialProcess& process) { process.Signal(SIGTERM); };
  const Ran stopped =
      Run(There("trap 'echo saved; exit 75' TERM; echo event >&3; while :; do sleep 0.1; done"), terminate);
  EXPECT_EQ(stopped.exit.status, 75);
  EXPECT_THAT(stopped.output, HasSubstr("saved\n"));
  const Ran died = Run(There("echo event >&3; sleep 1000"), terminate);
  EXPECT_EQ(died.exit.signal, SIGTERM);
  EXPECT_EQ(died.output, "") << "no line of the shell between";
  EXPECT_EQ(died.exit.status, 0);
}

TEST_F(OnMachineTest, SigkillEndsTheTrialAndItsChildren) {
  const Ran ran = Run(There("trap '' TERM; sleep 1000 & echo $! >pids; echo $$ >>pids; echo event >&3; wait"),
                      [](TrialProcess& process) { process.Signal(SIGKILL); });
  EXPECT_EQ(ran.exit.signal, SIGKILL);
  const std::string pids = ReadFile(folder_ / "pids").value_or("");
  for (const char* at = pids.c_str(); *at != '\0'; at = std::strchr(at, '\n') + 1)
    EXPECT_TRUE(IsGoneSoon(std::atoi(at))) << pids;
}

TEST_F(OnMachineTest, ATrialEndsWithTheWorkerThatIsGone) {
  const Command command = There("echo $$ >pid; echo event >&3; sleep 1000");
  {
    absl::StatusOr<std::unique_ptr<TrialProcess>> process = TrialProcess::Start(
        io_, command, [](std::string_view) {}, [](std::string_view) {});
    ASSERT_TRUE(process.ok()) << process.status();
    const Timestamp deadline = MonotonicNow() + std::chrono::minutes(1);
    while (!ReadFile(folder_ / "pid").ok() && MonotonicNow() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(IsGoneSoon(std::atoi(ReadFile(folder_ / "pid").value_or("0").c_str())));
}

// Requests while ssh connects arrive before the trial.
TEST_F(OnMachineTest, WhatComesBeforeTheTrialStartsReachesIt) {
  for (int round = 0; round < 10; ++round) {
    for (const int signal : {SIGTERM, SIGKILL}) {
      absl::StatusOr<std::unique_ptr<TrialProcess>> process = TrialProcess::Start(
          io_, There("sleep 1000"), [](std::string_view) {}, [](std::string_view) {});
      ASSERT_TRUE(process.ok()) << process.status();
      (*process)->Signal(signal);
      const Timestamp deadline = MonotonicNow() + std::chrono::minutes(1);
      while (!(*process)->HasEnded() && MonotonicNow() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ASSERT_TRUE((*process)->HasEnded()) << "signal " << signal;
    }
  }
}

TEST_F(OnMachineTest, ATrialEndsWhereNothingComesFromTheWorker) {
  const absl::StatusOr<Command> command = OnMachine(kWords,
                                                    {.program = "/bin/sleep",
                                                     .arguments = {"1000"},
                                                     .environment = {"PATH=/usr/bin:/bin"},
                                                     .working_folder = folder_.path().string()},
                                                    /*silence_max=*/std::chrono::seconds(1));
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(Run(*command).exit.signal, SIGKILL);
}

TEST_F(OnMachineTest, AProgramBetweenThatCannotBeRunIsAnEndWithItsReason) {
  const absl::StatusOr<Command> command =
      OnMachine({"no-such-program", "n2"},
                {.program = "/bin/true", .environment = {}, .working_folder = folder_.path().string()});
  ASSERT_TRUE(command.ok());
  const Ran ran = Run(*command);
  EXPECT_EQ(ran.exit.status, 127);
  EXPECT_THAT(ran.output, HasSubstr("no-such-program: not found"));
}

TEST(LaunchWordsTest, TheMachineIsPutInAndMistakesAreNamed) {
  EXPECT_THAT(*LaunchWords({"ssh", "-p", "22", "me@{machine}"}, "node2"),
              ElementsAre("ssh", "-p", "22", "me@node2"));
  EXPECT_THAT(LaunchWords({"ssh", "node1"}, "node2").status().message(), HasSubstr("no word has {machine}"));
  for (const char* name : {"", "-oProxyCommand=x", "a b", "a;b", "$(id)"})
    EXPECT_THAT(LaunchWords({"ssh", "{machine}"}, name).status().message(),
                HasSubstr("is not valid; use letters"))
        << name;
}

TEST(CheckPlainPathTest, WhatAShellWouldReadOtherwiseIsRefused) {
  EXPECT_TRUE(CheckPlainPath("/shared/inlier-1.0/state_2", "state_dir").ok());
  for (const char* path : {"/a b", "/a'b", "/$HOME", "/a;b", "/a=b", "/a*"})
    EXPECT_THAT(CheckPlainPath(path, "state_dir").message(), HasSubstr("state_dir: ")) << path;
}

}  // namespace
}  // namespace inlier
