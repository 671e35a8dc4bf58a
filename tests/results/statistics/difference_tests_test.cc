// Statistics against SciPy's numbers (tests/golden/statistics), and where they have no answer.
#include "results/statistics/difference_tests.h"

#include <cmath>
#include <fstream>
#include <map>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "results/statistics/mean.h"
#include "results/statistics/rank_correlation.h"

namespace inlier {
namespace {

using Values = std::vector<double>;

void ExpectClose(double ours, const nlohmann::json& theirs, const nlohmann::json& of) {
  const double wanted = theirs.get<double>();
  EXPECT_NEAR(ours, wanted, 1e-12 * std::abs(wanted)) << of.dump();
}

TEST(StatisticsTest, EqualsSciPy) {
  std::ifstream file(INLIER_SOURCE_DIR "/tests/golden/statistics/cases.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  std::map<std::string, int> kinds;
  for (const nlohmann::json& one : cases) {
    const std::string kind = one["kind"];
    ++kinds[kind];
    if (kind == "summary") {
      const Values values = one["values"];
      ExpectClose(Mean(values), one["mean"], one);
      ExpectClose(Median(values), one["median"], one);
      ASSERT_EQ(SampleDeviation(values).has_value(), one.contains("std"));
      if (one.contains("std")) ExpectClose(*SampleDeviation(values), one["std"], one);
      continue;
    }
    const Values a = one["a"];
    const Values b = one["b"];
    if (kind == "welch") {
      ASSERT_TRUE(WelchP(a, b).has_value()) << one.dump();
      ExpectClose(*WelchP(a, b), one["p"], one);
    } else if (kind == "paired") {
      std::vector<std::pair<double, double>> pairs;
      for (std::size_t i = 0; i < a.size(); ++i) pairs.emplace_back(a[i], b[i]);
      ASSERT_TRUE(PairedP(pairs).has_value()) << one.dump();
      ExpectClose(*PairedP(pairs), one["p"], one);
      if (!one.contains("low")) continue;
      const std::optional<Interval> interval = PairedInterval(pairs, one["confidence"]);
      ASSERT_TRUE(interval.has_value()) << one.dump();
      ExpectClose(interval->low, one["low"], one);
      ExpectClose(interval->high, one["high"], one);
    } else if (kind == "spearman") {
      ASSERT_TRUE(SpearmanP(a, b).has_value()) << one.dump();
      ExpectClose(*SpearmanRho(a, b), one["rho"], one);
      ExpectClose(*SpearmanP(a, b), one["p"], one);
    } else {
      ASSERT_EQ(kind, "bootstrap");
      const auto interval = BootstrapDifference(a, b, one["confidence"]);
      ASSERT_TRUE(interval.has_value());
      // Other random numbers: SciPy's interval is of a million resamples, ours of ten thousand.
      const double width = one["high"].get<double>() - one["low"].get<double>();
      EXPECT_NEAR(interval->low, one["low"], 0.04 * width);
      EXPECT_NEAR(interval->high, one["high"], 0.04 * width);
    }
  }
  EXPECT_GT(kinds["welch"], 10);
  EXPECT_GT(kinds["paired"], 10);
  EXPECT_GT(kinds["summary"], 5);
  EXPECT_GT(kinds["bootstrap"], 2);
  EXPECT_GT(kinds["spearman"], 8);
}

TEST(StatisticsTest, TestsNeedTwoValuesAndSomeSpread) {
  EXPECT_FALSE(WelchP({1}, {2, 3}).has_value());
  EXPECT_FALSE(WelchP({2, 3}, {}).has_value());
  EXPECT_FALSE(WelchP({0.1, 0.1, 0.1}, {0.3, 0.3}).has_value());  // Their means differ, by no spread at all.
  EXPECT_TRUE(WelchP({0.1, 0.1, 0.1}, {0.3, 0.4}).has_value());
  EXPECT_FALSE(PairedP({{1, 2}}).has_value());
  EXPECT_FALSE(PairedP({{1, 2}, {3, 4}, {7, 8}}).has_value());
  EXPECT_FALSE(BootstrapDifference({1}, {2, 3}, 0.95).has_value());
}

// Five points in one order: 1 of 120 orders has the correlation 1, and 1 has -1. Of four with one exchange 8 of 24 are as far
// from 0. Three points of which two are equal on one side: 2 of 6 orders give each of sqrt(0.75), 0 and -sqrt(0.75).
TEST(StatisticsTest, PermutationsOfAFewPointsAreCounted) {
  EXPECT_DOUBLE_EQ(*SpearmanP({1, 2, 3, 4, 5}, {1, 4, 9, 16, 25}), 2.0 / 120);
  EXPECT_DOUBLE_EQ(*SpearmanP({1, 2, 3, 4}, {2, 1, 3, 4}), 8.0 / 24);
  EXPECT_DOUBLE_EQ(*SpearmanP({1, 2, 3}, {7, 7, 8}), 4.0 / 6);
  EXPECT_FALSE(SpearmanP({1, 2}, {1, 2}).has_value());
  EXPECT_FALSE(SpearmanP({1, 2, 3}, {5, 5, 5}).has_value());
  const Values many = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(*SpearmanP(many, many), 0) << "less than what the approximation resolves";
}

TEST(StatisticsTest, IntervalOfPairsNeedsTwoThatDiffer) {
  EXPECT_FALSE(PairedInterval({{1, 2}}, 0.95).has_value());
  EXPECT_FALSE(PairedInterval({{1, 2}, {3, 4}}, 0.95).has_value());
  EXPECT_FALSE(PairedInterval({{1, INFINITY}, {2, 3}}, 0.95).has_value());
  // Differences 1 and 3: 2 -+ 12.7062 * sqrt(2) / sqrt(2), Student's t of one degree of freedom.
  EXPECT_NEAR(PairedInterval({{1, 0}, {3, 0}}, 0.95)->low, 2 - 12.706204736, 1e-8);
  EXPECT_NEAR(PairedInterval({{1, 0}, {3, 0}}, 0.95)->high, 2 + 12.706204736, 1e-8);
}

TEST(StatisticsTest, ValuesThatAreNotFiniteHaveNoP) {
  EXPECT_FALSE(WelchP({1, INFINITY}, {2, 3}).has_value());
  EXPECT_FALSE(PairedP({{1, INFINITY}, {2, 3}}).has_value());
}

// Of two values on each side a resample is one of four equally probable ones; the extreme difference has 1/16.
TEST(StatisticsTest, BootstrapOfTwoValuesIsKnown) {
  const Values a = {10, 14};
  const Values b = {1, 2};
  const auto wide = BootstrapDifference(a, b, 0.95);
  EXPECT_EQ(wide->low, 10 - 2);
  EXPECT_EQ(wide->high, 14 - 1);
  const auto narrow = BootstrapDifference(a, b, 0.6);  // 8 and 8.5 are 3/16, 9 is 1/16; 12 to 13 likewise.
  EXPECT_EQ(narrow->low, 9);
  EXPECT_EQ(narrow->high, 12);
}

TEST(StatisticsTest, BootstrapIsTheSameEachTimeAndOfNoMoreDrawsThanAllowed) {
  const Values a = {1, 2, 5, 7};
  const Values b = {2, 3, 3};
  const auto once = BootstrapDifference(a, b, 0.9);
  const auto again = BootstrapDifference(a, b, 0.9);
  EXPECT_EQ(once->low, again->low);
  EXPECT_EQ(once->high, again->high);
  const Values many(100'000, 1.0);
  const auto equal = BootstrapDifference(many, many, 0.9);
  EXPECT_EQ(equal->low, 0);
  EXPECT_EQ(equal->high, 0);
}

TEST(StatisticsTest, MedianOfAnEvenNumberIsBetween) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({4, 1}), 2.5);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({1, INFINITY, 2, INFINITY}), INFINITY);
}

}  // namespace
}  // namespace inlier
