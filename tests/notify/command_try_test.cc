// Commands of hooks, as real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "notify/try_outcome.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;
using Kind = TryOutcome::Kind;

class CommandTryTest : public testing::Test {
 protected:
  CommandTryTest() { hook_.set_command((folder_.path() / "hook").string()); }

  TryOutcome Run(
      const std::string& script, const MustStop& must_stop = [] { return false; }) {
    std::ofstream(hook_.command()) << "#!/bin/sh\n" << script << "\n";
    EXPECT_EQ(::chmod(hook_.command().c_str(), 0700), 0);
    output_.clear();
    return RunCommand(hook_, notification_, must_stop, output_);
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
  v1::HookConfig hook_;
  Notification notification_{.number = 7, .at = {1000}, .event = "end", .body = R"({"id":"n-7-1000"})"};
  std::string output_;
};

TEST_F(CommandTryTest, ItsInputIsTheBodyAndItsEnvironmentIsClean) {
  ::setenv("INLIER_SECRET_OF_THE_TEST", "secret", 1);
  notification_.body = std::string(300'000, 'x');  // More than a pipe holds.
  const TryOutcome outcome =
      Run("cat >" + Path("input") + "; env >" + Path("env") + "; pwd >" + Path("folder") + "; echo noticed");
  EXPECT_EQ(outcome.kind, Kind::kTaken) << outcome.error;
  EXPECT_EQ(Text("input"), notification_.body);
  EXPECT_THAT(Text("env"), HasSubstr("INLIER_EVENT=end\n"));
  EXPECT_THAT(Text("env"), HasSubstr("INLIER_DELIVERY=n-7-1000\n"));
  EXPECT_THAT(Text("env"), Not(HasSubstr("SECRET")));
  EXPECT_EQ(Text("folder"), "/\n");
  EXPECT_EQ(output_, "noticed\n");
}

TEST_F(CommandTryTest, AnotherStatusIsARefusalWithTheEndOfTheOutput) {
  const TryOutcome outcome =
      Run("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo last >&2; exit 3");
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_EQ(outcome.error, "it ended with status 3");
  EXPECT_THAT(output_, HasSubstr("last"));
  EXPECT_LE(output_.size(), 2000u);
  EXPECT_EQ(Run("kill -9 $$").error, "it was ended by signal 9 (Killed)");
}

TEST_F(CommandTryTest, ItsGroupIsKilledAtTheTimeLimit) {
  hook_.set_timeout_seconds(1);
  const TryOutcome outcome = Run("sleep 600 & echo $! >" + Path("child") + "; wait");
  EXPECT_EQ(outcome.kind, Kind::kFailed);
  EXPECT_THAT(outcome.error, HasSubstr("did not end within 1 s"));
  const pid_t child = static_cast<pid_t>(std::stol(Text("child")));
  for (int i = 0; i < 500 && ::kill(child, 0) == 0; ++i) {
    std::ifstream status("/proc/" + std::to_string(child) +
                         "/stat");  // A dead one that is not reaped yet is a zombie.
    std::string pid, name, state;
    if (status >> pid >> name >> state && state == "Z") break;
    ::usleep(10'000);
  }
  std::ifstream status("/proc/" + std::to_string(child) + "/stat");
  std::string pid, name, state = "gone";
  status >> pid >> name >> state;
  EXPECT_THAT(state, testing::AnyOf("gone", "Z"));
}

TEST_F(CommandTryTest, AStopEndsIt) {
  int asked = 0;
  const TryOutcome outcome = Run("sleep 600", [&] { return ++asked > 2; });
  EXPECT_EQ(outcome.kind, Kind::kFailed);
}

TEST_F(CommandTryTest, AProcessThatItLeavesBehindDoesNotHoldTheResult) {
  const TryOutcome outcome = Run("sleep 3 & exit 0");
  EXPECT_EQ(outcome.kind, Kind::kTaken);
}

TEST_F(CommandTryTest, AProgramThatOthersCanWriteSinceIsNotRun) {
  ASSERT_EQ(Run("exit 0").kind, Kind::kTaken);
  ASSERT_EQ(::chmod(hook_.command().c_str(), 0777), 0);
  const TryOutcome outcome = RunCommand(
      hook_, notification_, [] { return false; }, output_);
  EXPECT_EQ(outcome.kind, Kind::kFailed);
  EXPECT_THAT(outcome.error, HasSubstr("writable by other users"));
}

}  // namespace
}  // namespace inlier
