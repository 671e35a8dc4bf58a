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
  double m[2] = {0, 0}, v[2] = {0, 0};
  ExpectFormulaOf(
      {0.0, 1e-2, 3e-3}, 1e-15,
      [](const ParameterGroups& groups) {
        return Adam(groups,
                    {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .decay = GetParam()});
      },
      [&](int i, int t, double rate, double gradient, double value) {
        const double weight_decay = i == 0 ? 0.1 : 0.0;
        if (GetParam() == Adam::Decay::kDecoupled) {
          value *= 1 - rate * weight_decay;
        } else {
          gradient += weight_decay * value;
        }
        m[i] = 0.9 * m[i] + 0.1 * gradient;
        v[i] = 0.95 * v[i] + 0.05 * gradient * gradient;
        const double corrected = std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8;
        return value - rate * (m[i] / (1 - std::pow(0.9, t))) / corrected;
      });
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
