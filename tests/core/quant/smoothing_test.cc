#include "core/quant/smoothing.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <vector>

namespace inlier {
namespace {

TEST(SmoothingTest, FactorsByHand) {
  const at::Tensor input = torch::tensor({16.f, 9.f, 0.f, 5.f, 81.f});
  const std::vector<at::Tensor> weights = {
      torch::tensor({{1.f, -4.f, 2.f, 0.f, 1.f}}),
      torch::tensor({{-4.f, 1.f, 2.f, 0.f, 0.f}, {2.f, 0.f, 1.f, 0.f, 1.f}})};
  const at::Tensor half = SmoothingFactors(input, weights, 0.5);
  EXPECT_EQ(half.scalar_type(), torch::kFloat);
  EXPECT_TRUE(torch::equal(half, torch::tensor({2.f, 1.5f, 1.f, 1.f, 9.f}))) << half;
  EXPECT_TRUE(torch::allclose(
      SmoothingFactors(input, weights, 0.75),
      torch::tensor({8.f / std::sqrt(2.f), std::pow(9.f, 0.75f) / std::sqrt(2.f), 1.f, 1.f, 27.f})));
}

TEST(SmoothingTest, AtItsEndsOneSideDecidesAlone) {
  const at::Tensor input = torch::tensor({4.f, 0.5f, 0.f});
  const std::vector<at::Tensor> weights = {torch::tensor({{-8.f, 0.25f, 2.f}})};
  EXPECT_TRUE(torch::equal(SmoothingFactors(input, weights, 1), torch::tensor({4.f, 0.5f, 1.f})));
  EXPECT_TRUE(torch::equal(SmoothingFactors(input, weights, 0), torch::tensor({0.125f, 4.f, 1.f})));
}

double CrestFactor(const at::Tensor& x) {
  return x.abs().max().item<double>() / x.std(/*unbiased=*/false).item<double>();
}

TEST(SmoothingTest, TheProductStaysAndTheCrestFactorFallsWithAlpha) {
  torch::manual_seed(1);
  at::Tensor x = torch::randn({64, 48}, torch::kDouble);
  x.select(1, 3) *= 60;  // Features of outliers.
  x.select(1, 20) *= 25;
  x.select(1, 7).zero_();
  const at::Tensor query = torch::randn({32, 48}, torch::kDouble),
                   key = torch::randn({16, 48}, torch::kDouble);
  double crest = CrestFactor(x / SmoothingFactors(x.abs().amax(0), {query, key}, 0));
  for (const double alpha : {0.25, 0.5, 0.75, 1.0}) {
    const at::Tensor s = SmoothingFactors(x.abs().amax(0), {query, key}, alpha);
    for (const at::Tensor& weight : {query, key}) {
      const at::Tensor smooth = (x / s).matmul((weight * s).t());
      EXPECT_TRUE(torch::allclose(smooth, x.matmul(weight.t()), 1e-12, 1e-12)) << alpha;
    }
    const double smoothed = CrestFactor(x / s);
    EXPECT_LT(smoothed, crest) << alpha;
    crest = smoothed;
  }
  EXPECT_LT(crest, 0.25 * CrestFactor(x));
  // With one half, a feature of the input and its weights are of one size.
  const at::Tensor s = SmoothingFactors(x.abs().amax(0), {query, key}, 0.5), both = torch::cat({query, key});
  at::Tensor of_input = (x / s).abs().amax(0), of_weights = (both * s).abs().amax(0);
  EXPECT_EQ(s[7].item<double>(), 1);
  of_input[7] = of_weights[7];
  EXPECT_TRUE(torch::allclose(of_input, of_weights, 1e-12, 0));
}

TEST(SmoothingTest, NanStaysVisible) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor s =
      SmoothingFactors(torch::tensor({nan, 4.f, 4.f}), {torch::tensor({{1.f, nan, 1.f}})}, 0.5);
  EXPECT_TRUE(torch::equal(s.isnan(), torch::tensor({true, true, false})));
}

}  // namespace
}  // namespace inlier
