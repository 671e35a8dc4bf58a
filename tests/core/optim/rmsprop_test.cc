// RMSProp against the formula written out in double.
#include "core/optim/rmsprop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

void ExpectFormula(const RmsProp::Options& options) {
  at::Tensor decayed = Constant(0.5), free = Constant(-0.25);
  RmsProp rmsprop({{{"w.weight", decayed}}, {{"w.bias", free}}}, options);
  double expected[2] = {0.5, -0.25}, v[2] = {0, 0}, c[2] = {0, 0}, b[2] = {0, 0};
  const double rates[] = {0.1, 0.0, 0.03};
  for (int t = 1; t <= 3; ++t) {
    const double gradients[2] = {0.3 * t, -0.7 / t};
    SetGradient(decayed, gradients[0]);
    SetGradient(free, gradients[1]);
    rmsprop.Step(rates[t - 1]);
    for (int i = 0; i < 2; ++i) {
      const double gradient = gradients[i] + (i == 0 ? options.weight_decay : 0.0) * expected[i];
      v[i] = options.alpha * v[i] + (1 - options.alpha) * gradient * gradient;
      c[i] = options.alpha * c[i] + (1 - options.alpha) * gradient;
      const double scale = std::sqrt(options.centered ? v[i] - c[i] * c[i] : v[i]) + options.epsilon;
      b[i] = options.momentum * b[i] + gradient / scale;
      expected[i] -= rates[t - 1] * b[i];
    }
    EXPECT_NEAR(First(decayed), expected[0], 1e-14) << "update " << t;
    EXPECT_NEAR(First(free), expected[1], 1e-14) << "update " << t;
    EXPECT_EQ(First(decayed.grad()), gradients[0]) << "the gradient was changed";
  }
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
