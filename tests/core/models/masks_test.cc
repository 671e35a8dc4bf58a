// Windows and masks by text, in whole models.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "core/outliers/attention_recorder.h"
#include "spec/trial/unfused_part.h"
#include "tests/core/models/test_models.h"

namespace inlier {
namespace {

constexpr std::int64_t kStart = 1;

// In float64, with weights far from 0.
std::shared_ptr<LanguageModel> WideModel(const std::string& architecture, const std::string& attention,
                                         const std::string& fields = "") {
  const v1::TrialSpec spec = SmallSpec(architecture, attention, "initial_std: 0.3 " + fields);
  const auto model = MakeLanguageModel(spec, {.document_start = kStart}).value();
  InitialiseWeights(*model, spec, 1);
  model->eval();
  model->to(at::kDouble);
  EXPECT_EQ(model->can_fuse(layer::Place::kCpuFloat32), UnfusedPart(spec).empty());
  return model;
}

at::Tensor Logits(LanguageModel& model, const at::Tensor& ids, ActivationTap* tap = nullptr) {
  const at::NoGradGuard no_grad;
  ModelInput input;
  input.ids = ids;
  return model.Logits(input, tap);
}

// Two texts, of four tokens and of five.
at::Tensor TwoTexts() { return torch::tensor({{kStart, 7L, 8L, 9L, kStart, 10L, 11L, 12L, 13L}}); }

TEST(MasksTest, TextsOfASequenceDoNotSeeEachOther) {
  for (const std::string architecture : {"opt", "gpt2", "llama"}) {
    const auto model = WideModel(architecture, "document_mask: true");
    const at::Tensor ids = TwoTexts(), logits = Logits(*model, ids);
    at::Tensor other = ids.clone();
    other[0][2] = 20;
    const at::Tensor change = (Logits(*model, other) - logits).abs().amax(2)[0];
    EXPECT_GT(change[3].item<double>(), 1e-3) << architecture;
    EXPECT_EQ(change.slice(0, 4).max().item<double>(), 0) << architecture;
    EXPECT_GT((Logits(*WideModel(architecture, ""), other) - Logits(*WideModel(architecture, ""), ids))[0][5]
                  .abs()
                  .max()
                  .item<double>(),
              1e-3)
        << architecture << ": without the mask they do";
  }
}

// Each sequence of a batch has texts of its own, with padding behind them.
TEST(MasksTest, EachSequenceHasItsOwnTexts) {
  const auto model = WideModel("gpt2", "document_mask: true");
  ModelInput both;
  both.ids = torch::cat({TwoTexts(), torch::tensor({{kStart, 5L, kStart, 6L, 7L, 8L, kStart, 0L, 0L}})});
  both.attention_mask = torch::ones_like(both.ids);
  both.attention_mask[1].slice(0, 7).zero_();
  const at::NoGradGuard no_grad;
  const at::Tensor logits = model->Logits(both);
  EXPECT_LT((logits.slice(0, 0, 1) - Logits(*model, TwoTexts())).abs().max().item<double>(), 1e-12);
  EXPECT_LT((logits[1].slice(0, 0, 7) - Logits(*model, both.ids.slice(0, 1).slice(1, 0, 7))[0])
                .abs()
                .max()
                .item<double>(),
            1e-12);
}

// Without positions a text in a sequence is the text alone.
TEST(MasksTest, ATextInASequenceIsTheTextAlone) {
  for (const std::string architecture : {"gpt2", "llama"}) {
    const auto model = WideModel(architecture, "document_mask: true", "position: NONE");
    const at::Tensor ids = TwoTexts(), logits = Logits(*model, ids);
    EXPECT_LT((logits.slice(1, 0, 4) - Logits(*model, ids.slice(1, 0, 4))).abs().max().item<double>(), 1e-12);
    EXPECT_LT((logits.slice(1, 4) - Logits(*model, ids.slice(1, 4))).abs().max().item<double>(), 1e-12);
  }
}

// Two layers with a window of three keys: a token reaches the four behind it.
TEST(MasksTest, AWindowHidesWhatIsBeforeIt) {
  for (const std::string architecture : {"opt", "gpt2", "llama"}) {
    const auto model = WideModel(architecture, "window: 3");
    const at::Tensor ids = TwoTexts();
    at::Tensor other = ids.clone();
    other[0][0] = 20;
    const at::Tensor change = (Logits(*model, other) - Logits(*model, ids)).abs().amax(2)[0];
    EXPECT_GT(change[4].item<double>(), 1e-6) << architecture;
    EXPECT_EQ(change.slice(0, 5).max().item<double>(), 0) << architecture;
  }
  const at::Tensor ids = TwoTexts();
  EXPECT_TRUE(at::equal(Logits(*WideModel("llama", "window: 3"), ids),
                        Logits(*WideModel("llama", "", "window: 3"), ids)));
}

// Of ordinary softmax no visible key has a weight of 0, and what a query sees is what the recorder counts.
TEST(MasksTest, UnseenKeysAreNoZerosOfTheAttention) {
  for (const std::string architecture : {"opt", "gpt2", "llama"}) {
    for (const std::string mask : {"window: 3", "document_mask: true", "window: 2 document_mask: true"}) {
      const auto model = WideModel(architecture, mask);
      AttentionRecorder recorder(model->causal());
      const at::Tensor tapped = Logits(*model, TwoTexts(), &recorder);
      EXPECT_LT((tapped - Logits(*model, TwoTexts())).abs().max().item<double>(), 1e-12)
          << architecture << mask;
      const AttentionShares shares = *recorder.Summary();
      EXPECT_EQ(shares.zero_share, 0) << architecture << ", " << mask;
      EXPECT_GT(shares.uniform_first_key_mass, 0);
      // Of the nine queries those that see key 1, by the numbers of keys that they see.
      const double expected = mask == "window: 3"             ? (1 + 1.0 / 2 + 1.0 / 3) / 9
                              : mask == "document_mask: true" ? (1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 9
                                                              : (1 + 1.0 / 2) / 9;
      EXPECT_NEAR(shares.uniform_first_key_mass, expected, 1e-12) << architecture << ", " << mask;
    }
  }
}

TEST(MasksTest, AMaskByTextNeedsTheTokenThatBeginsOne) {
  const auto refused = MakeLanguageModel(SmallSpec("gpt2", "document_mask: true"));
  EXPECT_EQ(refused.status().message(),
            "attention.document_mask: needs data.text, a token of which begins each text");
}

}  // namespace
}  // namespace inlier
