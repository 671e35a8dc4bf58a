#include "core/quant/range_estimator.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <vector>

namespace inlier {
namespace {

QuantizerOptions Running(double momentum, std::optional<double> percentile = std::nullopt) {
  return {.bits = 8,
          .symmetric = false,
          .per_channel = false,
          .method = RangeMethod::kRunningMinMax,
          .momentum = momentum,
          .percentile = percentile};
}

TEST(RangeEstimatorTest, MinMaxForgetsEarlierBatches) {
  const auto estimator = MakeRangeEstimator({.bits = 8,
                                             .symmetric = true,
                                             .per_channel = false,
                                             .method = RangeMethod::kMinMax,
                                             .momentum = 0,
                                             .percentile = std::nullopt});
  estimator->Update(torch::tensor({-9.f, 9.f}));
  const ValueRange range = estimator->Update(torch::tensor({-1.f, 2.f}));
  EXPECT_EQ(range.minimum, std::vector<double>{-1});
  EXPECT_EQ(range.maximum, std::vector<double>{2});
  EXPECT_TRUE(range.single_precision);
}

TEST(RangeEstimatorTest, MinMaxPerChannelTakesSlicesOfTheFirstAxis) {
  const ValueRange range = MinMaxRange(torch::tensor({{1.f, -2.f}, {5.f, 3.f}}), /*per_channel=*/true);
  EXPECT_EQ(range.minimum, (std::vector<double>{-2, 3}));
  EXPECT_EQ(range.maximum, (std::vector<double>{1, 5}));
}

TEST(RangeEstimatorTest, RunningMeanStartsWithTheFirstBatchAndWeighsTheOldValue) {
  const auto estimator = MakeRangeEstimator(Running(0.9));
  const auto maximum_after = [&](double maximum) {
    return estimator->Update(torch::tensor({0.0, maximum}, torch::kDouble)).maximum[0];
  };
  EXPECT_DOUBLE_EQ(maximum_after(10), 10);
  EXPECT_DOUBLE_EQ(maximum_after(20), 11);
  EXPECT_DOUBLE_EQ(maximum_after(30), 12.9);
}

TEST(RangeEstimatorTest, PercentilesAreLinearBetweenOrderStatistics) {
  const at::Tensor x = torch::tensor({50.f, 10.f, 40.f, 20.f, 30.f});
  const ValueRange range = PercentileRange(x, 10, 90, false);
  EXPECT_DOUBLE_EQ(range.minimum[0], 14);
  EXPECT_DOUBLE_EQ(range.maximum[0], 46);
  EXPECT_FALSE(range.single_precision);
  const ValueRange middle = PercentileRange(x, 50, 75, false);
  EXPECT_DOUBLE_EQ(middle.minimum[0], 30);
  EXPECT_DOUBLE_EQ(middle.maximum[0], 40);
}

TEST(RangeEstimatorTest, PercentilesOfOneElementAreThatElement) {
  const ValueRange range = PercentileRange(torch::tensor({7.f}), 0.1, 99.9, false);
  EXPECT_EQ(range.minimum[0], 7);
  EXPECT_EQ(range.maximum[0], 7);
}

TEST(RangeEstimatorTest, PercentilesAgreeWithAFullSort) {
  torch::manual_seed(3);
  const at::Tensor x = torch::randn({31, 977}, torch::kDouble);
  const at::Tensor sorted = std::get<0>(x.flatten().sort());
  for (const double percent : {51.0, 75.0, 99.0, 99.9, 99.999}) {
    const ValueRange range = PercentileRange(x, 100 - percent, percent, false);
    const auto expected = [&](double p) {
      const double position = p / 100 * (sorted.numel() - 1);
      const auto below = static_cast<std::int64_t>(position);
      const double a = sorted[below].item<double>(), b = sorted[below + 1].item<double>();
      return a + (b - a) * (position - below);
    };
    EXPECT_NEAR(range.minimum[0], expected(100 - percent), 1e-12) << percent;
    EXPECT_NEAR(range.maximum[0], expected(percent), 1e-12) << percent;
  }
}

TEST(RangeEstimatorTest, APercentileCutsOneHugeValue) {
  at::Tensor x = torch::ones({1000});
  x[17] = 1e6f;
  const auto estimator = MakeRangeEstimator(Running(0.9, 99.0));
  EXPECT_DOUBLE_EQ(estimator->Update(x).maximum[0], 1.0);
}

TEST(MseGridTest, ReachesHalfBeyondTheLargestValueInHundredSteps) {
  MseGridEstimator estimator(8, /*symmetric=*/true, /*per_channel=*/false);
  const ValueRange range = estimator.Update(torch::tensor({0.3f, -0.1f, 0.2f, -0.3f}));
  const double step = (static_cast<double>(0.3f) + 0.5) / 100;
  EXPECT_EQ(range.maximum[0], static_cast<double>(static_cast<float>(estimator.chosen_index()[0] * step)));
  EXPECT_EQ(range.minimum[0], -range.maximum[0]);
}

TEST(MseGridTest, NoCandidateRoundsBetter) {
  torch::manual_seed(4);
  const at::Tensor x = torch::randn({2000});
  MseGridEstimator estimator(4, true, false);
  const ValueRange chosen = estimator.Update(x);
  const double reached = RoundingError(x, chosen, 4, true, false)[0];
  EXPECT_DOUBLE_EQ(reached, estimator.loss()[0]);
  for (double factor : {0.5, 0.8, 0.97, 1.03, 1.2, 2.0}) {
    const ValueRange other = {{chosen.minimum[0] * factor}, {chosen.maximum[0] * factor}, false};
    EXPECT_LE(reached, RoundingError(x, other, 4, true, false)[0] * 1.001) << factor;
  }
  // At four bits the best range cuts the tails.
  EXPECT_LT(chosen.maximum[0], x.abs().max().item<double>());
}

TEST(MseGridTest, FirstOfEqualCandidatesWins) {
  MseGridEstimator estimator(8, true, false);
  estimator.Update(torch::zeros({4, 4}));
  EXPECT_EQ(estimator.chosen_index()[0], 1);
}

TEST(MseGridTest, ErrorsAddUpOverBatchesAndTheFirstFixesTheReach) {
  MseGridEstimator estimator(8, true, false);
  estimator.Update(torch::tensor({0.5f, -0.5f}));
  const ValueRange range = estimator.Update(torch::tensor({50.f, -50.f}));
  EXPECT_EQ(range.maximum[0], 1.0);  // The reach of the first batch.
  EXPECT_EQ(estimator.chosen_index()[0], 100);
}

TEST(MseSearchTest, BeatsMinMaxWhereTheTailsAreLong) {
  torch::manual_seed(5);
  const at::Tensor x = torch::randn({3000}, torch::kDouble).pow(3);
  for (const bool symmetric : {false, true}) {
    MseSearchEstimator estimator(4, symmetric);
    const double searched = RoundingError(x, estimator.Update(x), 4, symmetric, false)[0];
    const double extremes = RoundingError(x, MinMaxRange(x, false), 4, symmetric, false)[0];
    EXPECT_LT(searched, 0.8 * extremes) << symmetric;
  }
}

}  // namespace
}  // namespace inlier
