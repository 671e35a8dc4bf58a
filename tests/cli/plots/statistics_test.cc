// Numbers over repeated runs, against scipy 1.17 and numpy 2.
#include "cli/plots/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inlier {
namespace {

TEST(PlotStatisticsTest, MeanAndDeviationWithOneFewer) {
  const Summary summary = Summarise({4.25, 5.5, 4.75, 9});
  EXPECT_EQ(summary.n, 4u);
  EXPECT_DOUBLE_EQ(summary.mean, 5.875);
  EXPECT_DOUBLE_EQ(summary.std, 2.1457321982639557);  // numpy.std(…, ddof=1)
  EXPECT_EQ(summary.min, 4.25);
  EXPECT_EQ(summary.max, 9);
}

TEST(PlotStatisticsTest, OneValueHasNoDeviationAndNoneHasNothing) {
  EXPECT_EQ(Summarise({3}).mean, 3);
  EXPECT_TRUE(std::isnan(Summarise({3}).std));
  EXPECT_EQ(Summarise({}).n, 0u);
  EXPECT_TRUE(std::isnan(Summarise({}).mean));
}

TEST(PlotStatisticsTest, ATrainingCountsOnceWithTheMeanOverItsEvaluations) {
  const Summary summary = SummariseTrainings(SummariseNested({{"a", 1}, {"a", 2}, {"a", 3}, {"b", 6}}));
  EXPECT_EQ(summary.n, 2u);
  EXPECT_EQ(summary.evaluations, 3u);
  EXPECT_EQ(summary.mean, 4);
  EXPECT_DOUBLE_EQ(summary.std, std::sqrt(8.0));
  EXPECT_EQ(summary.min, 2);
  EXPECT_EQ(summary.max, 6);
  EXPECT_EQ(summary.within_std, 1);
  EXPECT_TRUE(std::isnan(SummariseTrainings(SummariseNested({{"a", 1}})).within_std));
}

}  // namespace
}  // namespace inlier
