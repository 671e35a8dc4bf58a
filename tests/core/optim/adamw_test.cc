// AdamW against the formula written out in double, and its state through a save and a load.
#include "core/optim/adamw.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/optim/make_optimizer.h"

namespace inlier {
namespace {

at::Tensor Parameter(double value) { return at::full({3}, value, at::kDouble).set_requires_grad(true); }

void SetGradient(at::Tensor& parameter, double value) {
  parameter.mutable_grad() = at::full({3}, value, at::kDouble);
}

double First(const at::Tensor& tensor) { return tensor.detach()[0].item<double>(); }

std::map<std::string, at::Tensor> Copied(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> copy;
  for (const auto& [name, tensor] : optimizer.State()) copy[name] = tensor.clone();
  return copy;
}

TEST(AdamWTest, FollowsTheFormulaOverSeveralUpdates) {
  at::Tensor decayed = Parameter(0.5), free = Parameter(-0.25);
  AdamW adamw({{{"w.weight", decayed}}, {{"w.bias", free}}},
              {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1});
  double expected[2] = {0.5, -0.25}, m[2] = {0, 0}, v[2] = {0, 0};
  const double rates[] = {0.0, 1e-2, 3e-3};
  for (int t = 1; t <= 3; ++t) {
    const double gradients[2] = {0.3 * t, -0.7 / t};
    SetGradient(decayed, gradients[0]);
    SetGradient(free, gradients[1]);
    adamw.Step(rates[t - 1]);
    for (int i = 0; i < 2; ++i) {
      const double weight_decay = i == 0 ? 0.1 : 0.0;
      expected[i] *= 1 - rates[t - 1] * weight_decay;
      m[i] = 0.9 * m[i] + 0.1 * gradients[i];
      v[i] = 0.95 * v[i] + 0.05 * gradients[i] * gradients[i];
      const double corrected = std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8;
      expected[i] -= rates[t - 1] * (m[i] / (1 - std::pow(0.9, t))) / corrected;
    }
    EXPECT_NEAR(First(decayed), expected[0], 1e-15) << "update " << t;
    EXPECT_NEAR(First(free), expected[1], 1e-15) << "update " << t;
  }
}

TEST(AdamWTest, GoesOnBitForBitFromASavedState) {
  v1::OptimizerSpec spec;
  spec.mutable_adamw();
  at::Tensor straight = Parameter(1), resumed = Parameter(1);
  const auto first = MakeOptimizer(spec, {{"w.weight", straight}});
  const auto second = MakeOptimizer(spec, {{"w.weight", resumed}});
  SetGradient(straight, 0.3);
  first->Step(1e-2);
  resumed.detach().copy_(straight.detach());
  ASSERT_TRUE(second->LoadState(Copied(*first)).ok());
  SetGradient(straight, -0.2);
  SetGradient(resumed, -0.2);
  first->Step(1e-2);
  second->Step(1e-2);
  EXPECT_TRUE(at::equal(straight, resumed));
}

TEST(AdamWTest, StateNamesWhatDoesNotFit) {
  v1::OptimizerSpec spec;
  spec.mutable_adamw();
  const auto optimizer = MakeOptimizer(spec, {{"w.weight", Parameter(1)}});
  std::map<std::string, at::Tensor> state = Copied(*optimizer);
  state["second_moment/w.weight"] = at::zeros({4}, at::kDouble);
  EXPECT_EQ(optimizer->LoadState(state).message(),
            "the optimizer's tensor second_moment/w.weight has shape (4) where the model needs (3)");
  state.erase("second_moment/w.weight");
  EXPECT_EQ(optimizer->LoadState(state).message(),
            "the optimizer's state lacks the tensor second_moment/w.weight");
}

TEST(AdamWTest, SpecDecidesDecayOfGains) {
  v1::OptimizerSpec spec;
  spec.mutable_adamw()->set_weight_decay(0.5);
  for (bool decay_norm_gamma : {false, true}) {
    spec.mutable_adamw()->set_decay_norm_gamma(decay_norm_gamma);
    at::Tensor gain = Parameter(1);
    SetGradient(gain, 0);
    MakeOptimizer(spec, {{"x.LayerNorm.weight", gain}})->Step(0.1);
    EXPECT_DOUBLE_EQ(First(gain), decay_norm_gamma ? 0.95 : 1.0);
  }
}

}  // namespace
}  // namespace inlier
