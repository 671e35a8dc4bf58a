#include "core/outliers/outlier_metrics.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/core/outliers/six_sigma_counts.h"

namespace inlier {
namespace {

TEST(OutlierMetricsTest, KurtosisByHand) {
  const at::Tensor x = torch::tensor({{1.0, 2.0, 3.0, 4.0, 10.0}}, torch::kDouble);
  EXPECT_NEAR(RowKurtosis(x).item<double>(), 278.8 / 156.250001, 1e-12);
}

TEST(OutlierMetricsTest, KurtosisOfANormalDistributionIsThree) {
  torch::manual_seed(1);
  EXPECT_NEAR(RowKurtosis(torch::randn({1, 1000000})).item<double>(), 3.0, 0.02);
}

TEST(OutlierMetricsTest, KurtosisInFloatSurvivesALargeMean) {
  torch::manual_seed(2);
  const at::Tensor x = torch::randn({2, 100000}) + 1000;
  const at::Tensor exact = RowKurtosis(x.to(torch::kDouble));
  EXPECT_TRUE(torch::allclose(RowKurtosis(x).to(torch::kDouble), exact, 1e-4));
}

TEST(OutlierMetricsTest, RowsAreTheFirstAxisWithTheRestFlattened) {
  const at::Tensor x = torch::tensor({{{1.f, -7.f}, {2.f, 3.f}}, {{0.f, 0.f}, {0.f, 4.f}}});
  EXPECT_TRUE(torch::equal(RowInfNorm(x), torch::tensor({7.f, 4.f})));
  EXPECT_TRUE(torch::equal(RowKurtosis(x), RowKurtosis(x.reshape({2, 4}))));
}

TEST(OutlierMetricsTest, InfNormOfNotANumberIsNotANumber) {
  EXPECT_TRUE(std::isnan(RowInfNorm(torch::tensor({{1.f, std::nanf("")}})).item<float>()));
}

TEST(OutlierMetricsTest, SixSigmaCountsByPositionAndByDimension) {
  at::Tensor x = torch::zeros({2, 50, 20});
  x.select(2, 3).fill_(0.01);
  x[0][7][3] = 100;
  x[1][7][4] = -100;
  const SixSigmaCounts counts = CountBeyondSixSigma(x, SixSigmaScope::kSequence);
  EXPECT_EQ(counts.per_position[7].item<std::int64_t>(), 2);
  EXPECT_EQ(counts.per_position.sum().item<std::int64_t>(), 2);
  EXPECT_EQ(counts.per_dimension[3].item<std::int64_t>(), 1);
  EXPECT_EQ(counts.per_dimension[4].item<std::int64_t>(), 1);
}

TEST(OutlierMetricsTest, SixSigmaScopeSetsMeanAndDeviation) {
  at::Tensor x = torch::zeros({100, 4, 4});
  x[0] = torch::arange(16, torch::kFloat32).reshape({4, 4});  // Loud, but even in itself.
  EXPECT_EQ(CountBeyondSixSigma(x, SixSigmaScope::kSequence).per_position.sum().item<std::int64_t>(), 0);
  EXPECT_GT(CountBeyondSixSigma(x, SixSigmaScope::kWholeTensor).per_position.sum().item<std::int64_t>(), 0);
}

// Against the elements that are no padding, row by row; NaN in the padding must not show.
TEST(OutlierMetricsTest, PaddingCountsNowhere) {
  torch::manual_seed(4);
  at::Tensor x = torch::randn({2, 40, 6}, torch::kDouble);
  x[0][3][2] = 9;
  x[0].slice(0, 30).fill_(std::nan(""));
  at::Tensor padding = torch::zeros({2, 40, 1}, torch::kBool);
  padding[0].slice(0, 30).fill_(true);
  const at::Tensor real = x[0].slice(0, 0, 30).unsqueeze(0);
  const at::Tensor kurtosis = RowKurtosis(x, padding), norm = RowInfNorm(x, padding);
  EXPECT_NEAR(kurtosis[0].item<double>(), RowKurtosis(real).item<double>(), 1e-12);
  EXPECT_NEAR(kurtosis[1].item<double>(), RowKurtosis(x)[1].item<double>(), 1e-12);
  EXPECT_EQ(norm[0].item<double>(), 9);
  EXPECT_EQ(norm[1].item<double>(), RowInfNorm(x)[1].item<double>());
  const at::Tensor beyond = BeyondSixSigma(x, SixSigmaScope::kSequence, padding);
  EXPECT_TRUE(torch::equal(beyond[0].slice(0, 0, 30), BeyondSixSigma(real, SixSigmaScope::kSequence)[0]));
  EXPECT_EQ(beyond.sum().item<std::int64_t>(), 1);
  const SixSigmaCounts whole = CountBeyondSixSigma(x, SixSigmaScope::kWholeTensor, padding);
  EXPECT_EQ(whole.per_position[3].item<std::int64_t>(), 1);
}

// |x| > 100 and more than 1000 times the median of the sequence, written out.
TEST(OutlierMetricsTest, MassiveActivationsByThePlainDefinition) {
  torch::manual_seed(5);
  at::Tensor x = 0.2 * torch::randn({3, 7, 5});
  x[0][1][2] = -170;
  x[0][2][2] = 99.9;  // Not above 100.
  x[1][0][0] = 500;
  x[1][6][4] = 120;  // Above 100, below 1000 medians.
  x[1] *= 1.2;
  x[2][5][1] = 2000;  // In the padding.
  at::Tensor padding = torch::zeros({3, 7, 1}, torch::kBool);
  padding[2].slice(0, 4).fill_(true);
  const at::Tensor massive = MassiveActivations(x, padding);
  int found = 0;
  for (int sequence = 0; sequence < 3; ++sequence) {
    std::vector<float> magnitudes;
    const int tokens = sequence == 2 ? 4 : 7;
    for (int t = 0; t < tokens; ++t) {
      for (int j = 0; j < 5; ++j) magnitudes.push_back(std::abs(x[sequence][t][j].item<float>()));
    }
    std::vector<float> sorted = magnitudes;
    std::sort(sorted.begin(), sorted.end());
    const float median = sorted[(sorted.size() - 1) / 2];
    for (int t = 0; t < 7; ++t) {
      for (int j = 0; j < 5; ++j) {
        const bool expected =
            t < tokens && magnitudes[t * 5 + j] > 100 && magnitudes[t * 5 + j] > 1000 * median;
        EXPECT_EQ(massive[sequence][t][j].item<bool>(), expected) << sequence << t << j;
        found += expected;
      }
    }
  }
  EXPECT_GE(found, 2);
  EXPECT_FALSE(MassiveActivations(torch::randn({1, 4, 4})).any().item<bool>());
}

}  // namespace
}  // namespace inlier
