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

TEST(PlotStatisticsTest, RankCorrelationIsThatOfScipy) {
  // scipy.stats.spearmanr(x, y).statistic
  EXPECT_NEAR(*SpearmanRho({1, 2, 3, 4, 5}, {5, 6, 7, 8, 7}), 0.8207826816681233, 1e-15);
  EXPECT_NEAR(*SpearmanRho({1, 2, 2, 3, 5, 5, 5}, {7, 3, 3, 9, 1, 1, 4}), -0.4763849587291912, 1e-15);
  EXPECT_NEAR(*SpearmanRho({0.1, -4, 1e9, 2, 2}, {3, 1, 8, 2.5, 2.5}), 0.6842105263157895, 1e-15);
  EXPECT_DOUBLE_EQ(*SpearmanRho({1, 10, 100}, {3, 2, 1}), -1);
}

TEST(PlotStatisticsTest, WithoutVariationThereIsNoCorrelation) {
  EXPECT_FALSE(SpearmanRho({1, 1, 1}, {1, 2, 3}));
  EXPECT_FALSE(SpearmanRho({1}, {2}));
  EXPECT_FALSE(SpearmanRho({}, {}));
}

}  // namespace
}  // namespace inlier
