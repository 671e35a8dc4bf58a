// Trials on further machines. The machine is this one, reached by `env MACHINE=n2 …` in the place of ssh.
#include "worker/machines/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/time.h"
#include "tests/support/temporary_folder.h"
#include "tests/worker/process_state.h"
#include "worker/processes/trial_process.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kWords = {"/usr/bin/env", "MACHINE=n2"};

struct Seen {
  ProcessExit exit;
  std::string events, output;
};

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

  // Runs it to its end; `started` is called on each event.
  Seen Run(const Command& command, const std::function<void(TrialProcess&)>& on_event = nullptr) {
    Seen seen;
    std::unique_ptr<TrialProcess> process;
    absl::StatusOr<std::unique_ptr<TrialProcess>> started = TrialProcess::Start(
        io_, command,
        [&](std::string_view bytes) {
          seen.events += bytes;
          if (on_event) on_event(*process);
        },
        [&](std::string_view bytes) { seen.output += bytes; });
    EXPECT_TRUE(started.ok()) << started.status();
    process = *std::move(started);
    bool ended = false;
    const auto story = [&]() -> asio::awaitable<void> {
      seen.exit = co_await process->WaitForExit();
      ended = true;
    };
    asio::co_spawn(io_, story(), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    io_.run_for(std::chrono::seconds(60));
    EXPECT_TRUE(ended) << "it did not end within a minute";
    io_.restart();
    return seen;
  }

  TemporaryFolder folder_;
  asio::io_context io_;
};

TEST_F(OnMachineTest, EventsLogAndStatusAreThoseOfTheTrial) {
  const Seen seen = Run(There("echo event >&3; echo out; echo err >&2; cat; exit 7"));
  EXPECT_EQ(seen.exit.status, 7);
  EXPECT_EQ(seen.exit.signal, 0);
  EXPECT_EQ(seen.events, "event\n");
  EXPECT_EQ(seen.output, "out\nerr\n");
  EXPECT_EQ(seen.exit.resident_bytes_max, 0) << "not that of the program between";
}

TEST_F(OnMachineTest, TheTrialHasItsOwnEnvironmentAndFolderAlone) {
  ::setenv("SECRET_OF_THE_WORKER", "x", 1);
  const Seen seen = Run(There("env | sort >&3; pwd >&3; ls /proc/self/fd | wc -l >&3",
                            {"ODD=it's \"odd\" $HOME `id` \\ ;\n#", "CUDA_VISIBLE_DEVICES="}));
  EXPECT_THAT(seen.events, HasSubstr("ODD=it's \"odd\" $HOME `id` \\ ;\n"));
  EXPECT_THAT(seen.events, testing::Not(HasSubstr("SECRET_OF_THE_WORKER")));
  EXPECT_THAT(seen.events, testing::Not(HasSubstr("MACHINE=")));
  EXPECT_THAT(seen.events, HasSubstr(absl::StrCat(folder_.path().string(), "\n5\n")))
      << "0 to 3, and that of ls";
  EXPECT_EQ(fs::status(folder_ / kStartScriptName).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OnMachineTest, ASignalGoesToTheTrialAndIsItsStatusWhereItDiesOfIt) {
  const auto terminate = [](TrialProcess& process) { process.Signal(SIGTERM); };
  const Seen stopped =
      Run(There("trap 'echo saved; exit 75' TERM; echo event >&3; while :; do sleep 0.1; done"), terminate);
  EXPECT_EQ(stopped.exit.status, 75);
  EXPECT_THAT(stopped.output, HasSubstr("saved\n"));
  const Seen died = Run(There("echo event >&3; sleep 1000"), terminate);
  EXPECT_EQ(died.exit.signal, SIGTERM);
  EXPECT_EQ(died.output, "") << "no line of the shell between";
  EXPECT_EQ(died.exit.status, 0);
}

TEST_F(OnMachineTest, SigkillEndsTheTrialAndItsChildren) {
  const Seen seen = Run(There("trap '' TERM; sleep 1000 & echo $! >pids; echo $$ >>pids; echo event >&3; wait"),
                      [](TrialProcess& process) { process.Signal(SIGKILL); });
  EXPECT_EQ(seen.exit.signal, SIGKILL);
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
  const Seen seen = Run(*command);
  EXPECT_EQ(seen.exit.status, 127);
  EXPECT_THAT(seen.output, HasSubstr("no-such-program: not found"));
}

TEST(LaunchWordsTest, TheMachineIsPutInAndMistakesAreNamed) {
  EXPECT_THAT(*LaunchWords({"ssh", "-p", "22", "me@{machine}"}, "node2"),
              ElementsAre("ssh", "-p", "22", "me@node2"));
  EXPECT_THAT(LaunchWords({"ssh", "node1"}, "node2").status().message(), HasSubstr("no word has {machine}"));
  for (const char* name : {"", "-oProxyCommand=x", "a b", "a;b", "$(id)"})
    EXPECT_THAT(LaunchWords({"ssh", "{machine}"}, name).status().message(),
                HasSubstr("is no name of a machine"))
        << name;
}

TEST(CheckPlainPathTest, WhatAShellWouldReadOtherwiseIsRefused) {
  EXPECT_TRUE(CheckPlainPath("/shared/inlier-1.0/state_2", "state_dir").ok());
  for (const char* path : {"/a b", "/a'b", "/$HOME", "/a;b", "/a=b", "/a*"})
    EXPECT_THAT(CheckPlainPath(path, "state_dir").message(), HasSubstr("state_dir: ")) << path;
}

}  // namespace
}  // namespace inlier
