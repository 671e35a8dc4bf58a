// Clipping by the global norm, against numbers computed by hand.
#include "core/optim/gradient_norm.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

at::Tensor WithGradient(double value, std::int64_t size) {
  at::Tensor parameter = at::zeros({size}, at::kDouble);
  parameter.mutable_grad() = at::full({size}, value, at::kDouble);
  return parameter;
}

TEST(GradientNormTest, LongGradientIsScaledToTheLimit) {
  const std::vector<at::Tensor> parameters = {WithGradient(3, 1),
                                              WithGradient(2, 4)};  // Norm sqrt(9 + 16) = 5.
  EXPECT_DOUBLE_EQ(ClipGradientNorm(parameters, 1.0).item<double>(), 5.0);
  EXPECT_DOUBLE_EQ(parameters[0].grad()[0].item<double>(), 3.0 / (5.0 + 1e-6));
  EXPECT_DOUBLE_EQ(parameters[1].grad()[3].item<double>(), 2.0 / (5.0 + 1e-6));
}

TEST(GradientNormTest, ShortGradientIsLeftAlone) {
  const std::vector<at::Tensor> parameters = {WithGradient(3, 1)};
  ClipGradientNorm(parameters, 3.5);
  EXPECT_EQ(parameters[0].grad()[0].item<double>(), 3.0);
}

TEST(GradientNormTest, LimitZeroOnlyMeasures) {
  const std::vector<at::Tensor> parameters = {WithGradient(1000, 1)};
  EXPECT_EQ(ClipGradientNorm(parameters, 0).item<double>(), 1000.0);
  EXPECT_EQ(parameters[0].grad()[0].item<double>(), 1000.0);
}

TEST(GradientNormTest, ParameterWithoutGradientIsSkipped) {
  const std::vector<at::Tensor> parameters = {at::zeros({2}, at::kDouble), WithGradient(4, 1)};
  EXPECT_EQ(ClipGradientNorm(parameters, 0).item<double>(), 4.0);
  EXPECT_FALSE(parameters[0].grad().defined());
}

}  // namespace
}  // namespace inlier
