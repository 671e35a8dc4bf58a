#include "core/outliers/token_metrics.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

namespace inlier {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(TokenMetricsTest, KurtosisByHand) {
  const at::Tensor x = torch::tensor({{1.0, 2.0, 3.0, 4.0, 10.0}}, torch::kDouble);
  EXPECT_NEAR(TokenKurtosis(x).item<double>(), 278.8 / 100.0,
              1e-12);  // Deviations -3 -2 -1 0 6: m4 278.8, m2 10.
}

TEST(TokenMetricsTest, OneFeatureThatHoldsEverythingReachesTheCeiling) {
  for (const int width : {4, 64, 768}) {
    at::Tensor x = torch::zeros({width});
    x[1] = -5;
    EXPECT_NEAR(TokenKurtosis(x).item<double>(), width - 2 + 1.0 / (width - 1), 1e-4 * width);
    EXPECT_FLOAT_EQ(TokenNormRatio(x).item<float>(), 1);
  }
}

TEST(TokenMetricsTest, ANormalTokenHasThree) {
  torch::manual_seed(1);
  EXPECT_NEAR(TokenKurtosis(torch::randn({1000000})).item<double>(), 3.0, 0.02);
}

TEST(TokenMetricsTest, EveryTokenIsMeasuredByItself) {
  const at::Tensor x = torch::randn({2, 3, 8}, torch::kDouble);
  EXPECT_EQ(TokenKurtosis(x).sizes(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_DOUBLE_EQ(TokenKurtosis(x)[1][2].item<double>(), TokenKurtosis(x[1][2]).item<double>());
  EXPECT_NEAR(TokenNormRatio(x)[0][1].item<double>(), (x[0][1].abs().max() / x[0][1].norm()).item<double>(),
              1e-12);
}

TEST(TokenMetricsTest, ConstantAndZeroTokensAreZero) {
  for (const double value : {0.0, 0.1, -3e30, 1e-44}) {
    const at::Tensor x = torch::full({3, 48}, value);
    EXPECT_TRUE(torch::equal(TokenKurtosis(x), torch::zeros({3}))) << value;
  }
  EXPECT_TRUE(torch::equal(TokenNormRatio(torch::zeros({2, 5})), torch::zeros({2})));
  EXPECT_EQ(TokenKurtosis(torch::ones({1, 1})).item<float>(), 0);
}

TEST(TokenMetricsTest, ScaleDoesNotMatterNearTheEndsOfTheDtype) {
  torch::manual_seed(2);
  const at::Tensor x = torch::randn({4, 32});
  for (const double scale : {1e-30, 1e30}) {
    EXPECT_TRUE(torch::allclose(TokenKurtosis(x * scale), TokenKurtosis(x), 1e-4)) << scale;
    EXPECT_TRUE(torch::allclose(TokenNormRatio(x * scale), TokenNormRatio(x), 1e-4)) << scale;
  }
}

TEST(TokenMetricsTest, NanStaysVisible) {
  for (const double bad : {kNan, HUGE_VAL, -HUGE_VAL}) {
    const at::Tensor x = torch::tensor({{1.0, bad, 2.0}, {1.0, 2.0, 4.0}});
    for (const auto& metric : {&TokenKurtosis, &TokenNormRatio}) {
      EXPECT_TRUE(metric(x)[0].isnan().item<bool>()) << bad;
      EXPECT_FALSE(metric(x)[1].isnan().item<bool>()) << bad;
      EXPECT_TRUE(metric(torch::full({3}, bad)).isnan().item<bool>()) << bad;
    }
  }
}

TEST(TokenMetricsTest, HalfPrecisionIsMeasuredInFloat) {
  const at::Tensor x = torch::randn({2, 16}).to(torch::kBFloat16);
  EXPECT_TRUE(torch::equal(TokenKurtosis(x), TokenKurtosis(x.to(torch::kFloat))));
}

}  // namespace
}  // namespace inlier
