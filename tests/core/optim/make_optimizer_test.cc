// Every kind of optimizer made from a spec: each field has its effect, and training from a saved state is
// bit-equal.
#include "core/optim/make_optimizer.h"

#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

v1::OptimizerSpec Spec(const std::string& text) {
  v1::OptimizerSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

constexpr const char* kSpecs[] = {
    "adamw { weight_decay: 0.1 }",
    "adam { weight_decay: 0.1 }",
    "rmsprop { }",
    "rmsprop { momentum: 0.9 centered: true weight_decay: 0.1 }",
    "sgd { }",
    "sgd { momentum: 0.9 nesterov: true weight_decay: 0.1 }",
    "ortho_adam { weight_decay: 0.1 }",
    "ortho_adam { side: BOTH block: 5 }",
    "ortho_adam { kind: HADAMARD side: IN block: 4 }",
    "muon { weight_decay: 0.1 }",
    "soap { weight_decay: 0.1 refresh_every: 2 }",
};

class EveryOptimizerTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Specs, EveryOptimizerTest, testing::ValuesIn(kSpecs));

TEST_P(EveryOptimizerTest, ContinuesBitForBitFromASavedState) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    SmallNetwork straight(dtype), resumed(dtype);
    const auto first = MakeOptimizer(Spec(GetParam()), straight.parameters());
    straight.Run(*first, 0, 3);
    resumed.CopyFrom(straight);
    const auto second = MakeOptimizer(Spec(GetParam()), resumed.parameters());
    ASSERT_TRUE(second->LoadState(CopyOfState(*first)).ok());
    straight.Run(*first, 3, 3);
    resumed.Run(*second, 3, 3);
    EXPECT_EQ(straight.DistanceFrom(resumed), 0) << dtype;
  }
}

TEST_P(EveryOptimizerTest, MovesEveryParameterAndAtRateZeroNone) {
  SmallNetwork model, start;
  const auto optimizer = MakeOptimizer(Spec(GetParam()), model.parameters());
  model.Run(*optimizer, 0, 1, /*learning_rate=*/0);
  EXPECT_EQ(model.DistanceFrom(start), 0);
  model.Run(*optimizer, 1, 1);
  for (std::size_t i = 0; i < model.parameters().size(); ++i)
    EXPECT_FALSE(at::equal(model.parameters()[i].second, start.parameters()[i].second));
}

TEST(MakeOptimizerTest, EveryFieldHasItsEffect) {
  const auto distance = [](const std::string& one, const std::string& other) {
    SmallNetwork first, second;
    first.Run(*MakeOptimizer(Spec(one), first.parameters()), 0, 4);
    second.Run(*MakeOptimizer(Spec(other), second.parameters()), 0, 4);
    return first.DistanceFrom(second);
  };
  const std::map<std::string, std::vector<std::string>> changes = {
      {"adamw", {"beta1: 0.5", "beta2: 0.5", "epsilon: 0.1", "weight_decay: 0.5", "decay_norm_gamma: true"}},
      {"adam",
       {"beta1: 0.5", "beta2: 0.5", "epsilon: 0.1", "weight_decay: 0.5",
        "weight_decay: 0.2 decay_norm_gamma: true"}},
      {"rmsprop",
       {"alpha: 0.5", "epsilon: 0.1", "momentum: 0.5", "centered: true", "weight_decay: 0.5",
        "weight_decay: 0.2 decay_norm_gamma: true"}},
      {"sgd",
       {"momentum: 0.5", "momentum: 0.5 nesterov: true", "weight_decay: 0.5",
        "weight_decay: 0.2 decay_norm_gamma: true"}},
      {"ortho_adam",
       {"beta1: 0.5", "beta2: 0.5", "epsilon: 0.1", "weight_decay: 0.5",
        "weight_decay: 0.2 decay_norm_gamma: true", "side: OUT", "side: IN", "side: BOTH", "kind: HADAMARD",
        "block: 4", "max_size: 7", "rotation_seed: 2"}},
      {"muon",
       {"momentum: 0.5", "nesterov: false", "newton_schulz_steps: 3", "update_scale: 1", "weight_decay: 0.5",
        "weight_decay: 0.2 decay_norm_gamma: true", "beta1: 0.5", "beta2: 0.5", "epsilon: 0.1"}},
      {"soap",
       {"beta1: 0.5", "beta2: 0.5", "shampoo_beta: 0.5", "epsilon: 0.1", "weight_decay: 0.5",
        "weight_decay: 0.2 decay_norm_gamma: true", "refresh_every: 1", "max_size: 8"}},
  };
  for (const auto& [kind, fields] : changes) {
    std::vector<std::string> seen = {kind + " { weight_decay: 0.2 }"};
    for (const std::string& field : fields) {
      const std::string spec = kind + " { " + field + " }";
      for (const std::string& other : seen)
        EXPECT_GT(distance(spec, other), 1e-6) << spec << " and " << other;
      seen.push_back(spec);
    }
  }
}

TEST(MakeOptimizerTest, DecayOfGainsIsTheSpecsChoice) {
  v1::OptimizerSpec spec;
  spec.mutable_adamw()->set_weight_decay(0.5);
  for (bool decay_norm_gamma : {false, true}) {
    spec.mutable_adamw()->set_decay_norm_gamma(decay_norm_gamma);
    at::Tensor gain = Constant(1);
    SetGradient(gain, 0);
    MakeOptimizer(spec, {{"x.LayerNorm.weight", gain}})->Step(0.1);
    EXPECT_DOUBLE_EQ(First(gain), decay_norm_gamma ? 0.95 : 1.0);
  }
}

TEST(MakeOptimizerTest, PeakLearningRateIsTheChosenKinds) {
  EXPECT_EQ(PeakLearningRate(v1::OptimizerSpec()), 1e-3);
  for (const char* kind : {"adamw", "adam", "rmsprop", "sgd", "ortho_adam", "muon", "soap"})
    EXPECT_EQ(PeakLearningRate(Spec(std::string(kind) + " { learning_rate: 0.25 }")), 0.25) << kind;
}

TEST(MakeOptimizerTest, CheckNamesTheFieldThatDoesNotFit) {
  const SmallNetwork model;
  for (const char* spec : kSpecs) EXPECT_TRUE(CheckOptimizer(Spec(spec), model.parameters()).ok()) << spec;
  EXPECT_TRUE(CheckOptimizer(Spec("ortho_adam { kind: HADAMARD }"), model.parameters()).ok());
  EXPECT_FALSE(CheckOptimizer(Spec("ortho_adam { kind: HADAMARD side: OUT }"), model.parameters()).ok());
}

}  // namespace
}  // namespace inlier
