// SGD against the formula written out in double.
#include "core/optim/sgd.h"

#include <gtest/gtest.h>

#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

void ExpectFormula(const Sgd::Options& options) {
  at::Tensor decayed = Constant(0.5), free = Constant(-0.25);
  Sgd sgd({{{"w.weight", decayed}}, {{"w.bias", free}}}, options);
  double expected[2] = {0.5, -0.25}, buffer[2] = {0, 0};
  const double rates[] = {0.1, 0.0, 0.03};
  for (int t = 1; t <= 3; ++t) {
    const double gradients[2] = {0.3 * t, -0.7 / t};
    SetGradient(decayed, gradients[0]);
    SetGradient(free, gradients[1]);
    sgd.Step(rates[t - 1]);
    for (int i = 0; i < 2; ++i) {
      const double gradient = gradients[i] + (i == 0 ? options.weight_decay : 0.0) * expected[i];
      buffer[i] = t == 1 ? gradient : options.momentum * buffer[i] + gradient;
      const double direction = options.nesterov       ? gradient + options.momentum * buffer[i]
                               : options.momentum > 0 ? buffer[i]
                                                      : gradient;
      expected[i] -= rates[t - 1] * direction;
    }
    EXPECT_NEAR(First(decayed), expected[0], 1e-15) << "update " << t;
    EXPECT_NEAR(First(free), expected[1], 1e-15) << "update " << t;
    EXPECT_EQ(First(decayed.grad()), gradients[0]) << "the gradient was changed";
  }
}

TEST(SgdTest, Plain) { ExpectFormula({.momentum = 0, .nesterov = false, .weight_decay = 0}); }
TEST(SgdTest, Penalty) { ExpectFormula({.momentum = 0, .nesterov = false, .weight_decay = 0.1}); }
TEST(SgdTest, Momentum) { ExpectFormula({.momentum = 0.9, .nesterov = false, .weight_decay = 0}); }
TEST(SgdTest, Nesterov) { ExpectFormula({.momentum = 0.9, .nesterov = true, .weight_decay = 0.1}); }

TEST(SgdTest, KeepsNothingWithoutMomentum) {
  Sgd sgd(SmallNetwork().groups(), {.momentum = 0, .nesterov = false, .weight_decay = 0.1});
  EXPECT_TRUE(sgd.State().empty());
  EXPECT_TRUE(sgd.LoadState({}).ok());
}

}  // namespace
}  // namespace inlier
