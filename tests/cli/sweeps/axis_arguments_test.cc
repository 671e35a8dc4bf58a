#include "cli/sweeps/axis_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;

const std::vector<std::string> kAxes = {"a", "a, b=c", "phase"};

TEST(AxisArgumentsTest, NamesMayHaveCommas) {
  EXPECT_THAT(SplitNames({"a, b=c,phase", "a,other"}, kAxes), ElementsAre("a, b=c", "phase", "a", "other"));
  EXPECT_THAT(SplitNames({"method,seed", ""}, {}), ElementsAre("method", "seed", ""));
}

TEST(AxisArgumentsTest, NamesAndLabelsMayHaveEqualSigns) {
  EXPECT_THAT(SplitCondition("a, b=c=x, y", kAxes), Optional(Pair("a, b=c", "x, y")));
  EXPECT_THAT(SplitCondition("a=k=v", kAxes), Optional(Pair("a", "k=v")));
  EXPECT_THAT(SplitCondition("other=", kAxes), Optional(Pair("other", "")));
  EXPECT_EQ(SplitCondition("a, b", kAxes), std::nullopt);
  EXPECT_EQ(SplitCondition("=x", kAxes), std::nullopt);
}

TEST(AxisArgumentsTest, ConditionsAreSplitBeforeNamesOnly) {
  EXPECT_THAT(SplitConditions({"a, b=c=x, y,phase=then, second"}, kAxes),
              ElementsAre("a, b=c=x, y", "phase=then, second"));
  EXPECT_THAT(SplitConditions({"method=vanilla,bits=8", "seed=1"}, {}),
              ElementsAre("method=vanilla", "bits=8", "seed=1"));
  EXPECT_THAT(SplitConditions({"nothing"}, {}), ElementsAre("nothing"));
}

}  // namespace
}  // namespace inlier
