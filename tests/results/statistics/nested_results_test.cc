// Trainings and their evaluations, on numbers worked out by hand.
#include "results/statistics/nested_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace inlier {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

// Two trainings of three calibrations: means 11 and 15; around them -1, 0, 1 and -2, 0, 2; around 13 all six have the squares
// 9, 4, 1, 0, 4, 16.
TEST(NestedResultsTest, DeviationIsOverTrainingsOfTheMeanOverCalibrations) {
  const NestedSummary summary =
      SummariseNested({{"st-1", 10}, {"st-1", 11}, {"st-1", 12}, {"st-3", 13}, {"st-3", 15}, {"st-3", 17}});
  EXPECT_THAT(summary.means, ElementsAre(11, 15));
  EXPECT_EQ(summary.evaluations, 3u);
  EXPECT_THAT(*summary.std, DoubleEq(std::sqrt(8.0)));
  EXPECT_THAT(*summary.within_std, DoubleEq(std::sqrt((2.0 + 8.0) / 4)));
  EXPECT_THAT(*summary.pooled_std, DoubleEq(std::sqrt(34.0 / 5)));
  EXPECT_EQ(summary.values.size(), 6u);
}

// One result of each training: as without levels.
TEST(NestedResultsTest, TrainingsOfOneEvaluationHaveNoSpreadWithin) {
  const NestedSummary summary = SummariseNested({{"a", 1}, {"b", 3}});
  EXPECT_THAT(summary.means, ElementsAre(1, 3));
  EXPECT_EQ(summary.evaluations, 1u);
  EXPECT_THAT(*summary.std, DoubleEq(std::sqrt(2.0)));
  EXPECT_EQ(*summary.std, *summary.pooled_std);
  EXPECT_FALSE(summary.within_std);
}

TEST(NestedResultsTest, OneTrainingHasNoDeviationHoweverOftenItIsCalibrated) {
  const NestedSummary summary = SummariseNested({{"a", 1}, {"a", 2}, {"a", 3}});
  EXPECT_THAT(summary.means, ElementsAre(2));
  EXPECT_FALSE(summary.std);
  EXPECT_EQ(*summary.within_std, 1);
  EXPECT_EQ(*summary.pooled_std, 1);
}

// The mean of means, not of all: (2 + 5) / 2. Only the first training has a spread: (1 + 1) / (2 - 1).
TEST(NestedResultsTest, TrainingsCountEquallyWithUnequalNumbersOfEvaluations) {
  const NestedSummary summary = SummariseNested({{"a", 1}, {"b", 5}, {"a", 3}});
  EXPECT_THAT(summary.values, ElementsAre(1, 5, 3));
  EXPECT_THAT(summary.means, ElementsAre(2, 5));
  EXPECT_EQ(summary.evaluations, 2u);
  EXPECT_THAT(*summary.within_std, DoubleEq(std::sqrt(2.0)));
}

TEST(NestedResultsTest, ResultsWithoutATrainingAreEachTheirOwn) {
  EXPECT_THAT(SummariseNested({{"", 1}, {"", 3}, {"a", 4}, {"", 5}}).means, ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(SummariseNested({}).means, ElementsAre());
}

TEST(NestedResultsTest, InfiniteResultsHaveNoDeviation) {
  const NestedSummary summary = SummariseNested({{"a", INFINITY}, {"a", 1}, {"b", 1}});
  EXPECT_THAT(summary.means, ElementsAre(INFINITY, 1));
  EXPECT_FALSE(summary.std);
  EXPECT_FALSE(summary.within_std);
  EXPECT_FALSE(summary.pooled_std);
}

TEST(SummaryTest, MeanAndDeviationWithOneFewer) {
  const Summary summary = Summarise({4.25, 5.5, 4.75, 9});
  EXPECT_EQ(summary.n, 4u);
  EXPECT_DOUBLE_EQ(summary.mean, 5.875);
  EXPECT_DOUBLE_EQ(summary.std, 2.1457321982639557);  // numpy.std(…, ddof=1)
  EXPECT_EQ(summary.min, 4.25);
  EXPECT_EQ(summary.max, 9);
}

TEST(SummaryTest, OneValueHasNoDeviationAndNoneHasNothing) {
  EXPECT_EQ(Summarise({3}).mean, 3);
  EXPECT_TRUE(std::isnan(Summarise({3}).std));
  EXPECT_EQ(Summarise({}).n, 0u);
  EXPECT_TRUE(std::isnan(Summarise({}).mean));
}

TEST(SummaryTest, ATrainingCountsOnceWithTheMeanOverItsEvaluations) {
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
