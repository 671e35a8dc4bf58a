// Programs that the command line runs to their end.
#include "cli/programs/child_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace inlier {
namespace {

using testing::ElementsAre;

std::vector<std::string> LinesOf(const std::string& script) {
  std::vector<std::string> lines;
  const auto end = RunProgram("sh", {"-c", script}, [&](const std::string& line) { lines.push_back(line); });
  EXPECT_TRUE(end.ok() && end->succeeded()) << script;
  return lines;
}

TEST(ChildProgramTest, ItsThreadsSpinShortlyUnlessTheEnvironmentHasAPolicy) {
  ::unsetenv("OMP_WAIT_POLICY");
  ::unsetenv("GOMP_SPINCOUNT");
  EXPECT_THAT(LinesOf("[ $GOMP_SPINCOUNT -gt 0 ] && [ $GOMP_SPINCOUNT -lt 300000 ] && echo short $HOME"),
              ElementsAre("short " + std::string(std::getenv("HOME"))));
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  EXPECT_THAT(LinesOf("echo $OMP_WAIT_POLICY$GOMP_SPINCOUNT"), ElementsAre("active"));
  ::unsetenv("OMP_WAIT_POLICY");
}

TEST(ChildProgramTest, TheEndHasTheStatusAndTheLastErrorThatIsNotEmpty) {
  const auto failed = RunProgram("sh", {"-c", "echo first >&2; echo last >&2; echo >&2; exit 3"});
  ASSERT_TRUE(failed.ok());
  EXPECT_FALSE(failed->succeeded());
  EXPECT_FALSE(failed->not_started());
  EXPECT_EQ(failed->last_error, "last");
  const auto missing = RunProgram("/nowhere/program", {}).value();
  EXPECT_TRUE(missing.not_started());
}

TEST(ChildProgramTest, ALineWithoutAnEndIsALineToo) {
  EXPECT_THAT(LinesOf("printf 'one\\ntwo'"), ElementsAre("one", "two"));
}

// The parent is killed, and cannot end its child, which ran on without limit.
TEST(ChildProgramTest, TheProgramEndsWithAParentThatIsKilled) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const auto kill_myself = [](const std::string&) { ::kill(::getpid(), SIGKILL); };
    // The program holds the write end of the pipe, as its parent does.
    [[maybe_unused]] const auto end = RunProgram("sh", {"-c", "echo started; exec sleep 1000"}, kill_myself);
    ::_exit(1);
  }
  ::close(ends[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  pollfd look{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&look, 1, 20'000), 1) << "the program outlives its parent";
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace inlier
