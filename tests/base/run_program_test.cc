#include "base/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

ProgramEnd Shell(const std::string& script, ProgramCall call = {}) {
  call.program = "/bin/sh";
  call.arguments = {"-c", script};
  return RunToEnd(call, [] { return false; }).value();
}

TEST(RunProgramTest, OutputsAreKeptApart) {
  const ProgramEnd end = Shell("echo out; echo error >&2");
  EXPECT_TRUE(end.Succeeded());
  EXPECT_EQ(end.output, "out\n");
  EXPECT_EQ(end.errors, "error\n");
}

TEST(RunProgramTest, OutputsAreJoinedWhereThatIsAskedFor) {
  const ProgramEnd end = Shell("echo out; echo error >&2", {.join_errors = true});
  EXPECT_EQ(end.output, "out\nerror\n");
  EXPECT_EQ(end.errors, "");
}

TEST(RunProgramTest, ItsInputAndEnvironmentAreThoseOfTheCall) {
  EXPECT_EQ(Shell("cat; echo $A$HOME", {.environment = {"A=1"}, .input = "text\n"}).output, "text\n1\n");
}

TEST(RunProgramTest, ArgumentsAreNotReadAsText) {
  ProgramCall call;
  call.program = "/bin/echo";
  call.arguments = {"a b", "$HOME", "; id"};
  const auto end = RunToEnd(call, [] { return false; });
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->output, "a b $HOME ; id\n");
}

TEST(RunProgramTest, OfALongOutputTheEndIsKept) {
  EXPECT_EQ(Shell("seq 1 100000", {.output_bytes_max = 7}).output, "100000\n");
}

TEST(RunProgramTest, AStatusAndASignalAreReported) {
  EXPECT_EQ(Shell("exit 3").HowText(), "it ended with status 3");
  EXPECT_EQ(Shell("kill -9 $$").HowText(), "it was ended by signal 9 (Killed)");
}

TEST(RunProgramTest, TheOutputOrTheEndWithWhatWasPrinted) {
  const auto output = [](const std::string& script, Duration limit = std::chrono::minutes(1)) {
    return OutputOf({.program = "/bin/sh", .arguments = {"-c", script}, .limit = limit}, "sh");
  };
  EXPECT_EQ(output("echo there; echo here >&2").value(), "there\nhere\n");
  EXPECT_EQ(output("echo trouble >&2; exit 3").status().message(),
            "sh: it ended with status 3; it printed: trouble");
  EXPECT_EQ(output("exec sleep 60", std::chrono::seconds(1)).status().message(),
            "sh: it did not end within 1 s");
}

TEST(RunProgramTest, AtItsLimitTheWholeGroupIsKilled) {
  const Timestamp began = MonotonicNow();
  const ProgramEnd end = Shell("sleep 60 & echo there; wait", {.limit = std::chrono::milliseconds(300)});
  EXPECT_FALSE(end.status.has_value());
  EXPECT_EQ(end.output, "there\n");
  EXPECT_LT(MonotonicNow() - began, std::chrono::seconds(30));
}

TEST(RunProgramTest, AProgramThatIsNotThereIsAnError) {
  EXPECT_FALSE(RunToEnd({.program = "/nowhere/sbatch"}, [] { return false; }).ok());
}

}  // namespace
}  // namespace inlier
