#include "base/check.h"

#include "gtest/gtest.h"

namespace inlier {
namespace {

TEST(CheckDeathTest, AFailedCheckEndsTheProcessAndNamesTheCondition) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int live_leases = 2;
  EXPECT_DEATH(INLIER_CHECK(live_leases <= 1), "check_test.cc:[0-9]+: check failed: live_leases <= 1");
}

TEST(CheckTest, AConditionThatHoldsDoesNothing) { INLIER_CHECK(1 + 1 == 2); }

}  // namespace
}  // namespace inlier
