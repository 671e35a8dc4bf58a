// Adam and AdamW against the formula written out in double, and the errors of a wrong state.
#include "core/optim/adam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/optim/make_optimizer.h"
#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

class AdamFormulaTest : public testing::TestWithParam<Adam::Decay> {};

TEST_P(AdamFormulaTest, IsFollowedOverSeveralUpdates) {
  at::Tensor decayed = Constant(0.5), free = Constant(-0.25);
  Adam adam({{{"w.weight", decayed}}, {{"w.bias", free}}},
            {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .decay = GetParam()});
  double expected[2] = {0.5, -0.25}, m[2] = {0, 0}, v[2] = {0, 0};
  const double rates[] = {0.0, 1e-2, 3e-3};
  for (int t = 1; t <= 3; ++t) {
    const double gradients[2] = {0.3 * t, -0.7 / t};
    SetGradient(decayed, gradients[0]);
    SetGradient(free, gradients[1]);
    adam.Step(rates[t - 1]);
    for (int i = 0; i < 2; ++i) {
      const double weight_decay = i == 0 ? 0.1 : 0.0;
      double gradient = gradients[i];
      if (GetParam() == Adam::Decay::kDecoupled) {
        expected[i] *= 1 - rates[t - 1] * weight_decay;
      } else {
        gradient += weight_decay * expected[i];
      }
      m[i] = 0.9 * m[i] + 0.1 * gradient;
      v[i] = 0.95 * v[i] + 0.05 * gradient * gradient;
      const double corrected = std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8;
      expected[i] -= rates[t - 1] * (m[i] / (1 - std::pow(0.9, t))) / corrected;
    }
    EXPECT_NEAR(First(decayed), expected[0], 1e-15) << "update " << t;
    EXPECT_NEAR(First(free), expected[1], 1e-15) << "update " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(BothDecays, AdamFormulaTest,
                         testing::Values(Adam::Decay::kDecoupled, Adam::Decay::kPenalty));

TEST(AdamTest, AMismatchInTheStateIsNamed) {
  v1::OptimizerSpec spec;
  spec.mutable_adamw();
  const auto optimizer = MakeOptimizer(spec, {{"w.weight", Constant(1)}});
  std::map<std::string, at::Tensor> state = CopyOfState(*optimizer);
  state["second_moment/w.weight"] = at::zeros({4}, at::kDouble);
  EXPECT_EQ(optimizer->LoadState(state).message(),
            "the optimizer's tensor second_moment/w.weight has shape (4) where the model needs (3)");
  state.erase("second_moment/w.weight");
  EXPECT_EQ(optimizer->LoadState(state).message(),
            "the optimizer's state has no tensor second_moment/w.weight");
}

}  // namespace
}  // namespace inlier
