#include "base/failpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

namespace inlier {
namespace {

// The variable is read once at the start, so each case runs in a new process.
class FailpointTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { ::unsetenv("INLIER_FAILPOINTS"); }
};

void ReachTimes(int times) {
  for (int i = 0; i < times; ++i) {
    Failpoint("here");
    Failpoint("elsewhere");
  }
  ::_exit(7);
}

TEST_F(FailpointTest, KillsTheProcessAtTheGivenTimeAndLogsIt) {
  ::setenv("INLIER_FAILPOINTS", "other=kill@1,here=kill@3", 1);
  EXPECT_EXIT(ReachTimes(3), testing::KilledBySignal(SIGKILL), "failpoint here kill");
}

TEST_F(FailpointTest, DoesNothingBeforeItsTimeOrWithoutTheVariable) {
  ::setenv("INLIER_FAILPOINTS", "here=kill@4", 1);
  EXPECT_EXIT(ReachTimes(3), testing::ExitedWithCode(7), "");
  ::unsetenv("INLIER_FAILPOINTS");
  EXPECT_EXIT(ReachTimes(3), testing::ExitedWithCode(7), "");
}

TEST_F(FailpointTest, VariableThatCannotBeReadEndsTheProcessAtItsStart) {
  for (const char* wrong : {"here", "here=kill", "here=kill@0", "here=explode@1", "=kill@1", "here=kill@x"}) {
    ::setenv("INLIER_FAILPOINTS", wrong, 1);
    EXPECT_EXIT(ReachTimes(1), testing::ExitedWithCode(2), "is not NAME=kill@N") << wrong;
  }
}

}  // namespace
}  // namespace inlier
