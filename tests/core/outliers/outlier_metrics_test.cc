#include "core/outliers/outlier_metrics.h"

#include <gtest/gtest.h>
#include <torch/types.h>

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

}  // namespace
}  // namespace inlier
