// Rank correlations against scipy 1.17.
#include "results/statistics/rank_correlation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(RankCorrelationTest, RankCorrelationIsThatOfScipy) {
  // scipy.stats.spearmanr(x, y).statistic
  EXPECT_NEAR(*SpearmanRho({1, 2, 3, 4, 5}, {5, 6, 7, 8, 7}), 0.8207826816681233, 1e-15);
  EXPECT_NEAR(*SpearmanRho({1, 2, 2, 3, 5, 5, 5}, {7, 3, 3, 9, 1, 1, 4}), -0.4763849587291912, 1e-15);
  EXPECT_NEAR(*SpearmanRho({0.1, -4, 1e9, 2, 2}, {3, 1, 8, 2.5, 2.5}), 0.6842105263157895, 1e-15);
  EXPECT_DOUBLE_EQ(*SpearmanRho({1, 10, 100}, {3, 2, 1}), -1);
}

TEST(RankCorrelationTest, WithoutVariationThereIsNoCorrelation) {
  EXPECT_FALSE(SpearmanRho({1, 1, 1}, {1, 2, 3}));
  EXPECT_FALSE(SpearmanRho({1}, {2}));
  EXPECT_FALSE(SpearmanRho({}, {}));
}

TEST(RankCorrelationTest, EqualValuesShareTheMeanOfTheirRanks) {
  EXPECT_THAT(Ranks({5, 1, 5, 9, 5}), ::testing::ElementsAre(3, 1, 3, 5, 3));
  EXPECT_THAT(Ranks({}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace inlier
