#include "core/models/language_model.h"

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <string>

#include "tests/core/models/test_models.h"
#include "tests/core/support/loss_per_token.h"

namespace inlier {
namespace {

class TypeRecorder : public ActivationTap {
 public:
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    types[site] = activation.scalar_type();
    rounded[site] = activation.equal(activation.to(at::kBFloat16).to(activation.scalar_type()));
    finite = finite && activation.isfinite().all().item<bool>();
    return activation;
  }
  std::map<std::string, at::ScalarType> types;
  std::map<std::string, bool> rounded;  // All are numbers of bfloat16.
  bool finite = true;
};

TEST(LanguageModelTest, LossAtTheTargetsEqualsTheLossOfAllLogits) {
  for (const char* architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture));
    model->to(at::kDouble);
    const ModelInput input = SmallInput();
    for (const at::Tensor& labels : {SomeLabels(input), input.ids}) {
      ActivationTap tap;
      const double of_targets = model->Loss(input, labels).item<double>();
      EXPECT_NEAR(model->Loss(input, labels, &tap).item<double>(), of_targets, 1e-13) << architecture;
      const at::Tensor per_token = LossPerToken(*model, input, labels);
      const at::Tensor predicted = model->causal() ? labels.slice(1, 1) : labels;
      ASSERT_EQ(per_token.sizes(), predicted.sizes());
      EXPECT_TRUE(per_token.ne(0).equal(predicted.ne(kIgnoredLabel)));
      EXPECT_NEAR((per_token.sum() / predicted.ne(kIgnoredLabel).sum()).item<double>(), of_targets, 1e-13)
          << architecture;
    }
  }
}

// The definition, from the logits by hand.
TEST(LanguageModelTest, CausalModelsPredictTheNextLabelAndMaskedOnesTheirOwn) {
  for (const char* architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture));
    const ModelInput input = SmallInput(1, 4);
    const at::Tensor labels = torch::tensor({{7L, kIgnoredLabel, 9L, kIgnoredLabel}});
    const at::Tensor log_probabilities = model->Logits(input).log_softmax(-1)[0];
    const double expected = std::string(architecture) == "bert"
                                ? -(log_probabilities[0][7] + log_probabilities[2][9]).item<double>() / 2
                                : -log_probabilities[1][9].item<double>();
    EXPECT_NEAR(model->Loss(input, labels).item<double>(), expected, 1e-5) << architecture;
  }
}

TEST(LanguageModelTest, WithoutTargetsTheLossAndItsGradientsAreZero) {
  for (const char* architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture));
    const ModelInput input = SmallInput();
    at::Tensor labels = torch::full_like(input.ids, kIgnoredLabel);
    if (model->causal()) labels.select(1, 0).fill_(5);  // The first label is never a target.
    const at::Tensor loss = model->Loss(input, labels);
    EXPECT_EQ(loss.item<float>(), 0) << architecture;
    loss.backward();
    for (const auto& item : model->named_parameters()) {
      if (!item.value().grad().defined()) continue;
      EXPECT_EQ(item.value().grad().abs().sum().item<float>(), 0) << item.key();
    }
  }
}

TEST(LanguageModelTest, AMaskOfOnesIsNoMask) {
  for (const char* architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture));
    ModelInput input = SmallInput();
    const at::Tensor without = model->Logits(input);
    input.attention_mask = torch::ones_like(input.ids);
    if (!model->causal()) input.token_type_ids = torch::zeros_like(input.ids);
    EXPECT_TRUE(torch::allclose(model->Logits(input), without, 1e-5, 1e-6)) << architecture;
  }
}

TEST(LanguageModelTest, PaddingTokensHaveNoInfluence) {
  for (const char* architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture));
    ModelInput input = SmallInput(2, 8);
    input.attention_mask = torch::ones_like(input.ids);
    input.attention_mask.slice(1, 6).zero_();
    const at::Tensor before = model->Logits(input).slice(1, 0, 6);
    input.ids.slice(1, 6).fill_(4);
    EXPECT_TRUE(model->Logits(input).slice(1, 0, 6).equal(before)) << architecture;
  }
}

TEST(LanguageModelTest, DropoutFollowsTrainingMode) {
  for (const char* architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture, "dropout: 0.1", "", "dropout: 0.1"));
    ModelInput input = SmallInput();
    const at::Tensor evaluated = model->Logits(input);
    EXPECT_TRUE(model->Logits(input).equal(evaluated));
    model->train();
    const at::Tensor first = model->Logits(input);
    EXPECT_FALSE(first.equal(evaluated));
    EXPECT_TRUE(model->Logits(input).equal(first)) << "the same seed gives the same masks";
    input.dropout_seed = 1;
    EXPECT_FALSE(model->Logits(input).equal(first));
  }
}

TEST(LanguageModelTest, ASequenceThatIsTooLongIsExplained) {
  for (const std::string architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture));
    try {
      model->Logits(SmallInput(1, 13));
      FAIL() << "13 tokens went into 12 positions";
    } catch (const c10::Error& error) {
      EXPECT_THAT(
          std::string(error.what_without_backtrace()),
          ::testing::HasSubstr("13 tokens does not fit into model." + architecture + ".max_positions 12"));
    }
  }
}

// Autocast computes products in bfloat16 only. Scores, gates, softmax, norms and the loss stay in float32, and a row of
// padding is not NaN.
TEST(LanguageModelTest, AutocastKeepsScoresGatesSoftmaxNormsAndLossInFloat32) {
  for (const char* architecture : kArchitectures) {
    for (const char* softmax : kSoftmaxes) {
      const auto model =
          SmallModel(SmallSpec(architecture, std::string("gate { linear {} } softmax { ") + softmax + " }"));
      ModelInput input = SmallInput();
      input.attention_mask = torch::ones_like(input.ids);
      input.attention_mask[0]
          .slice(0, 0, 3)
          .zero_();  // Left padding: queries 0 to 2 of OPT see no key at all.
      const at::Tensor labels = input.ids.masked_fill(input.attention_mask.eq(0), kIgnoredLabel);
      const double plain = model->Loss(input, labels).item<double>();
      TypeRecorder recorder;
      at::autocast::set_autocast_enabled(at::kCPU, true);
      at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
      const at::Tensor loss = model->Loss(input, labels);
      model->Loss(input, labels, &recorder);
      at::autocast::clear_cache();
      at::autocast::set_autocast_enabled(at::kCPU, false);

      EXPECT_EQ(loss.scalar_type(), at::kFloat);
      EXPECT_NEAR(loss.item<double>(), plain, 0.02 * plain) << architecture << " " << softmax;
      EXPECT_TRUE(recorder.finite);
      bool products = false;
      int seen = 0;
      for (const auto& [site, type] : recorder.types) {
        const bool wide =
            site.find("probs") != std::string::npos || site.find("ayerNorm") != std::string::npos ||
            site.find("layer_norm") != std::string::npos || site.find("layernorm") != std::string::npos ||
            site.find(".ln_") != std::string::npos;
        EXPECT_TRUE(!wide || type == at::kFloat) << site;
        const bool unrounded = site.find("attn_scores") != std::string::npos || site.ends_with(".gate");
        EXPECT_TRUE(!unrounded || !recorder.rounded[site]) << site;
        seen += unrounded;
        for (const char* query : {"q_proj", "query", "c_attn"})
          products = products || (type == at::kBFloat16 && site.find(query) != std::string::npos);
      }
      EXPECT_TRUE(products) << "autocast was not on";
      EXPECT_GE(seen, 2) << "scores and gates";
      loss.backward();
      for (const auto& item : model->named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << item.key();
        EXPECT_EQ(item.value().grad().scalar_type(), at::kFloat) << item.key();
        EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
      }
    }
  }
}

}  // namespace
}  // namespace inlier
