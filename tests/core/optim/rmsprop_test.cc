// RMSProp against the formula written out in double.
#include "core/optim/rmsprop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

void ExpectFormula(const RmsProp::Options& options) {
  double v[2] = {0, 0}, c[2] = {0, 0}, b[2] = {0, 0};
  ExpectFormulaOf(
      {0.1, 0.0, 0.03}, 1e-14, [&](const ParameterGroups& groups) { return RmsProp(groups, options); },
      [&](int i, int, double rate, double gradient, double value) {
        gradient += (i == 0 ? options.weight_decay : 0.0) * value;
        v[i] = options.alpha * v[i] + (1 - options.alpha) * gradient * gradient;
        c[i] = options.alpha * c[i] + (1 - options.alpha) * gradient;
        const double scale = std::sqrt(options.centered ? v[i] - c[i] * c[i] : v[i]) + options.epsilon;
        b[i] = options.momentum * b[i] + gradient / scale;
        return value - rate * b[i];
      });
}

TEST(RmsPropTest, Plain) {
  ExpectFormula({.alpha = 0.9, .epsilon = 1e-8, .momentum = 0, .centered = false, .weight_decay = 0});
}
TEST(RmsPropTest, Momentum) {
  ExpectFormula({.alpha = 0.9, .epsilon = 1e-8, .momentum = 0.8, .centered = false, .weight_decay = 0.1});
}
TEST(RmsPropTest, Centered) {
  ExpectFormula({.alpha = 0.9, .epsilon = 1e-8, .momentum = 0, .centered = true, .weight_decay = 0.1});
}
TEST(RmsPropTest, CenteredWithMomentum) {
  ExpectFormula({.alpha = 0.9, .epsilon = 1e-3, .momentum = 0.8, .centered = true, .weight_decay = 0});
}

// v and c^2 meet at g^2, and in float32 their difference falls to either side of 0.
TEST(RmsPropTest, CenteredStaysFiniteUnderAConstantGradient) {
  at::Tensor parameter = at::zeros({64}, at::kFloat);
  parameter.mutable_grad() = Scattered({64}, 0.4, at::kFloat);
  RmsProp rmsprop({{{"w", parameter}}, {}},
                  {.alpha = 0.5, .epsilon = 1e-3, .momentum = 0, .centered = true, .weight_decay = 0});
  for (int i = 0; i < 100; ++i) rmsprop.Step(1e-3);
  EXPECT_TRUE(parameter.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace inlier
