// The penalty on feed-forward outputs by the fused engine against the reference's operations, in whole models: the same
// value and the same gradients of the whole loss. Finite differences: tests/core/train/regularizer_test.cc.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>

#include "core/layer_cpu/matmul.h"
#include "tests/core/models/loss_and_gradients.h"
#include "tests/core/models/test_models.h"

namespace inlier {
namespace {

constexpr double kPenaltyWeight = 0.7;
constexpr kernels::ScaledPower kPenaltyPowers[] = {{.tau = 0.8, .power = 4},
                                                   {.tau = 2, .power = 2},
                                                   {.tau = 0.5, .power = 3.0},
                                                   {.tau = 1, .power = 1},
                                                   {.tau = 1.5, .power = 2.5}};

struct Penalised {
  LossAndGradients whole;
  double penalty;
};

Penalised Penalise(Model& model, ModelInput input, const at::Tensor& labels, layer::Products products,
                   const kernels::ScaledPower& scaled, double weight = kPenaltyWeight) {
  FfnPenalty penalty(weight, scaled);
  input.ffn_penalty = &penalty;
  LossAndGradients whole = Compute(model, input, labels, products);
  return {std::move(whole), penalty.Value().item<double>()};
}

std::string Text(const kernels::ScaledPower& scaled) {
  return ", tau " + std::to_string(scaled.tau) + ", power " + std::to_string(scaled.power);
}

// `exact` for the model in double, else for float32.
void ExpectTheSameByBoth(Model& model, const ModelInput& input, const at::Tensor& labels, bool exact,
                         const std::string& what) {
  for (const kernels::ScaledPower& scaled : kPenaltyPowers) {
    const Penalised reference = Penalise(model, input, labels, layer::Products::kReference, scaled);
    const Penalised fused = Penalise(model, input, labels, layer::Products::kFloat32, scaled);
    EXPECT_GT(reference.penalty, 1e-3) << what;
    EXPECT_NEAR(fused.penalty, reference.penalty, (exact ? 1e-12 : 2e-6) * reference.penalty)
        << what << Text(scaled);
    EXPECT_NEAR(fused.whole.loss.item<double>(), reference.whole.loss.item<double>(), exact ? 1e-11 : 5e-6)
        << what << Text(scaled);
    EXPECT_LT(Difference(reference.whole, fused.whole), exact ? 1e-10 : 2e-6) << what << Text(scaled);
  }
}

TEST(FusedPenaltyTest, EqualsTheReferenceInDoubleAndInFloat32) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string placement : {"PRE", "POST"}) {
      for (const std::string dropout : {"dropout: 0.1", "dropout: 0"}) {
        const auto model =
            TrainedModel(SmallSpec(architecture, "gate { linear {} } softmax { clipped { gamma: -0.02 } }",
                                   "norm_placement: " + placement, dropout));
        ModelInput input = SmallInput(4, 12);
        input.dropout_seed = 77;
        const at::Tensor labels = SomeLabels(input);
        const std::string what = architecture + ", " + placement + ", " + dropout;
        ExpectTheSameByBoth(*model, input, labels, /*exact=*/false, what);
        model->to(at::kDouble);
        ExpectTheSameByBoth(*model, input, labels, /*exact=*/true, what + ", double");
      }
    }
  }
}

TEST(FusedPenaltyTest, Images) {
  ModelInput input;
  input.pixels = torch::randn({3, 1, 8, 8}, at::kDouble);
  ExpectTheSameByBoth(*TrainedVit(), input, torch::tensor({0L, 1L, 1L}), /*exact=*/true, "vit");
}

// Tokens of padding count as others. On the left of a causal model there are rows without a visible key, whose layers
// are the reference's in both engines.
TEST(FusedPenaltyTest, Padding) {
  for (const std::string architecture : kArchitectures) {
    for (const bool left : {false, true}) {
      const auto model = SmallModel(SmallSpec(architecture, "", "", "dropout: 0.1"));
      model->to(at::kDouble);
      MoveWeights(*model, 0.2);
      model->train();
      ModelInput input = SmallInput();
      input.attention_mask = torch::ones_like(input.ids);
      input.attention_mask[1].slice(0, left ? 0 : 5, left ? 5 : 8).zero_();
      const at::Tensor labels = SomeLabels(input).masked_fill(input.attention_mask.eq(0), kIgnoredLabel);
      const std::string what = architecture + (left ? ", left" : ", right");
      ExpectTheSameByBoth(*model, input, labels, /*exact=*/true, what);
      model->eval();
      const auto value = [&] {
        return Penalise(*model, input, labels, layer::Products::kFloat32, kPenaltyPowers[0]).penalty;
      };
      const double before = value();
      input.ids[1][left ? 2 : 6] = (input.ids[1][left ? 2 : 6].item<std::int64_t>() + 1) % 31;
      EXPECT_NE(value(), before) << what << ": a token of padding counts";
    }
  }
}

// Of several inputs: the difference of one is a matter of chance. Not with ReLU, whose slope jumps where rounding
// changes a sign: by 1 to 25 % of a gradient, in both.
TEST(FusedPenaltyTest, Bfloat16IsAsNearAsThatOfAutocast) {
  if (!layer::cpu::CanMultiply<layer::cpu::Bf16>())
    GTEST_SKIP() << "no products of bfloat16 on this processor";
  for (const std::string architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture, "", "activation: GELU_ERF"));
    MoveWeights(*model, 0.2);
    for (const kernels::ScaledPower& scaled : {kPenaltyPowers[0], kPenaltyPowers[1]}) {
      double fused_squares = 0, autocast_squares = 0;
      for (std::int64_t number = 0; number < 5; ++number) {
        ModelInput input = SmallInput(4, 12);
        input.ids = (input.ids - 3 + 5 * number).remainder(28) + 3;
        const at::Tensor labels = SomeLabels(input);
        const Penalised exact = Penalise(*model, input, labels, layer::Products::kReference, scaled);
        const Penalised fused = Penalise(*model, input, labels, layer::Products::kBfloat16, scaled);
        FfnPenalty penalty(kPenaltyWeight, scaled);
        ModelInput penalised = input;
        penalised.ffn_penalty = &penalty;
        fused_squares += std::pow(Difference(exact.whole, fused.whole), 2);
        autocast_squares +=
            std::pow(Difference(exact.whole, ComputeWithAutocast(*model, penalised, labels)), 2);
        EXPECT_NEAR(fused.penalty, exact.penalty, 0.02 * exact.penalty) << architecture << Text(scaled);
      }
      EXPECT_LT(std::sqrt(fused_squares), 1.5 * std::sqrt(autocast_squares)) << architecture << Text(scaled);
    }
  }
}

TEST(FusedPenaltyTest, ThreadsChangeNoBit) {
  for (const std::string architecture : kArchitectures) {
    const auto model = TrainedModel(SmallSpec(architecture, "dropout: 0.1", "", "dropout: 0.1"));
    const ModelInput input = SmallInput(45, 11);
    const at::Tensor labels = SomeLabels(input);
    for (const layer::Products products : FusedProducts()) {
      for (const kernels::ScaledPower& scaled : kPenaltyPowers) {
        at::set_num_threads(1);
        const Penalised one = Penalise(*model, input, labels, products, scaled);
        at::set_num_threads(2);
        const Penalised two = Penalise(*model, input, labels, products, scaled);
        EXPECT_EQ(one.penalty, two.penalty) << architecture << Text(scaled);
        EXPECT_TRUE(at::equal(one.whole.loss, two.whole.loss)) << architecture << Text(scaled);
        EXPECT_EQ(Difference(one.whole, two.whole), 0) << architecture << Text(scaled);
      }
    }
  }
}

// The rows of a table with and without it share the arithmetic of everything else.
TEST(FusedPenaltyTest, AWeightOfZeroChangesNoBit) {
  for (const std::string architecture : kArchitectures) {
    const auto model = TrainedModel(SmallSpec(architecture, "", "", "dropout: 0.1"));
    const ModelInput input = SmallInput();
    const at::Tensor labels = SomeLabels(input);
    for (const layer::Products products : AllProducts()) {
      const LossAndGradients without = Compute(*model, input, labels, products);
      const Penalised with = Penalise(*model, input, labels, products, kPenaltyPowers[0], /*weight=*/0);
      EXPECT_TRUE(at::equal(with.whole.loss, without.loss)) << architecture;
      EXPECT_EQ(Difference(without, with.whole), 0) << architecture;
    }
  }
}

TEST(FusedPenaltyTest, WithoutGradientsTheValueIsTheSame) {
  const auto model = SmallModel(SmallSpec("opt"));
  ModelInput input = SmallInput();
  const at::Tensor labels = SomeLabels(input);
  const double with = Penalise(*model, input, labels, layer::Products::kFloat32, kPenaltyPowers[1]).penalty;
  const at::NoGradGuard no_gradient;
  FfnPenalty penalty(kPenaltyWeight, kPenaltyPowers[1]);
  input.ffn_penalty = &penalty;
  input.products = layer::Products::kFloat32;
  model->Loss(input, labels);
  EXPECT_EQ(penalty.Value().item<double>(), with);
}

}  // namespace
}  // namespace inlier
