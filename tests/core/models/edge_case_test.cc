// Inputs at the edge: sequences of one token, samples that are all padding, weights that are not numbers.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/core/models/test_models.h"

namespace inlier {
namespace {

class EdgeCaseTest : public testing::Test {
 protected:
  EdgeCaseTest() { at::set_num_threads(1); }
};

// NCS divides by T - 1; a row of one key has nothing to share.
TEST_F(EdgeCaseTest, OneTokenGoesThroughEverySoftmaxAndGate) {
  for (const char* architecture : kArchitectures) {
    for (const char* softmax : kSoftmaxes) {
      const auto model =
          SmallModel(SmallSpec(architecture, std::string("softmax { ") + softmax + " } gate { linear {} }"));
      const ModelInput input = SmallInput(/*batch=*/2, /*tokens=*/1);
      const at::Tensor logits = model->Logits(input);
      EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, 1, 31}));
      EXPECT_TRUE(logits.isfinite().all().item<bool>()) << architecture << " " << softmax;
      logits.logsumexp(-1).sum().backward();
      for (const auto& item : model->named_parameters()) {
        if (!item.value().grad().defined()) continue;
        EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << softmax << " " << item.key();
      }
    }
  }
}

// The one token of a causal sequence predicts nothing: no target, no loss, no NaN.
TEST_F(EdgeCaseTest, OneTokenWithoutATargetHasNoLoss) {
  const auto model = SmallModel(SmallSpec("gpt2"));
  const ModelInput input = SmallInput(2, 1);
  EXPECT_EQ(model->Loss(input, input.ids).item<double>(), 0);
}

// A sample that is all padding must not spoil the other samples, nor the gradients of the batch.
TEST_F(EdgeCaseTest, ASampleOfPaddingOnlyLeavesTheOthersAsTheyAre) {
  for (const char* architecture : kArchitectures) {
    for (const char* softmax : kSoftmaxes) {
      const auto model = SmallModel(SmallSpec(architecture, std::string("softmax { ") + softmax + " }"));
      ModelInput input = SmallInput(/*batch=*/2, /*tokens=*/6);
      input.attention_mask = torch::ones({2, 6}, at::kLong);
      input.attention_mask[1].zero_();
      const at::Tensor logits = model->Logits(input);
      EXPECT_TRUE(logits.isfinite().all().item<bool>()) << architecture << " " << softmax;
      ModelInput alone;
      alone.ids = input.ids.slice(0, 0, 1);
      alone.attention_mask = input.attention_mask.slice(0, 0, 1);
      EXPECT_TRUE(model->Logits(alone).allclose(logits.slice(0, 0, 1), 1e-5, 1e-6))
          << architecture << " " << softmax;
      at::Tensor labels = input.ids.clone();
      labels[1].fill_(kIgnoredLabel);
      model->Loss(input, labels).backward();
      for (const auto& item : model->named_parameters()) {
        if (!item.value().grad().defined()) continue;
        EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>())
            << architecture << " " << softmax << " " << item.key();
      }
    }
  }
}

TEST_F(EdgeCaseTest, ASequenceLongerThanThePositionsIsRefusedByName) {
  for (const char* architecture : kArchitectures) {
    const auto model = SmallModel(SmallSpec(architecture));
    try {
      model->Logits(SmallInput(1, 13));
      ADD_FAILURE() << architecture << " took 13 tokens";
    } catch (const c10::Error& error) {
      EXPECT_NE(std::string(error.what_without_backtrace())
                    .find(std::string("a sequence of 13 tokens does not fit into model.") + architecture +
                          ".max_positions 12"),
                std::string::npos)
          << error.what_without_backtrace();
    }
  }
}

// No softmax of inlier hides it: a NaN weight makes the loss NaN. LibTorch's fused attention, which serves
// the vanilla softmax, gives zeros for such a row, and so weights are checked at loading
// (SafetensorsReader::LoadWeight).
TEST_F(EdgeCaseTest, AWeightThatIsNotANumberShowsInTheLoss) {
  for (const char* architecture : kArchitectures) {
    for (const char* softmax : kSoftmaxes) {
      if (std::string(softmax) == "vanilla {}") continue;
      const auto model = SmallModel(SmallSpec(architecture, std::string("softmax { ") + softmax + " }"));
      const c10::NoGradGuard no_gradient;
      for (auto& item : model->named_parameters()) {
        if (item.key().find("q_proj.weight") != std::string::npos ||
            item.key().find("query.weight") != std::string::npos ||
            item.key().find("c_attn.weight") != std::string::npos) {
          item.value().view({-1})[0] = std::numeric_limits<float>::quiet_NaN();
        }
      }
      const ModelInput input = SmallInput();
      EXPECT_TRUE(std::isnan(model->Loss(input, SomeLabels(input)).item<double>()))
          << architecture << " " << softmax;
    }
  }
}

}  // namespace
}  // namespace inlier
