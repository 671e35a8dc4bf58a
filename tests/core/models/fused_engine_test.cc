// The fused engine against the reference's operations, in whole models: the same loss and gradients with every part,
// dropout's draws included, on any number of threads. Finite differences: gradient_check_test.cc.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "core/layer_cpu/matmul.h"
#include "spec/trial/unfused_part.h"
#include "tests/core/models/loss_and_gradients.h"
#include "tests/core/models/test_models.h"

namespace inlier {
namespace {

using layer::Products;

void ExpectEqualBits(const LossAndGradients& a, const LossAndGradients& b, const std::string& what) {
  EXPECT_TRUE(at::equal(a.loss, b.loss)) << what;
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    EXPECT_TRUE(at::equal(a.gradients[i], b.gradients[i])) << what << ": " << a.names[i];
}

const char* const kDropout = "dropout: 0.1";

// Moves the model to double and trains it, with a seed for the dropout; returns what the fused engine computes.
LossAndGradients ExpectTheReferenceInDouble(LanguageModel& model, ModelInput& input, const at::Tensor& labels,
                                            const std::string& what) {
  model.to(at::kDouble);
  MoveWeights(model, 0.2);
  model.train();
  input.dropout_seed = 77;
  const LossAndGradients reference = Compute(model, input, labels, Products::kReference);
  LossAndGradients fused = Compute(model, input, labels, Products::kFloat32);
  EXPECT_NEAR(fused.loss.item<double>(), reference.loss.item<double>(), 1e-11) << what;
  EXPECT_LT(Difference(reference, fused), 1e-10) << what;
  return fused;
}

TEST(FusedEngineTest, EqualsTheReferenceInDoubleWithDropout) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string softmax : kSoftmaxes) {
      for (const std::string gate :
           {kGates[0], kGates[1], kGates[6], "projected { granularity: HEADWISE }", "projected {}"}) {
        const v1::TrialSpec spec = SmallSpec(
            architecture, "dropout: 0.2 softmax { " + softmax + " } gate { " + gate + " }", "", kDropout);
        const auto model = SmallModel(spec);
        ASSERT_EQ(model->can_fuse(layer::Place::kCpuFloat32), HasKernel(spec.attention().softmax()));
        if (!HasKernel(spec.attention().softmax())) continue;
        const std::string what = architecture + ", " + softmax + ", " + gate;
        ModelInput input = SmallInput();
        const at::Tensor labels = SomeLabels(input);
        const LossAndGradients fused = ExpectTheReferenceInDouble(*model, input, labels, what);
        input.dropout_seed = 78;
        EXPECT_NE(Compute(*model, input, labels, Products::kFloat32).loss.item<double>(),
                  fused.loss.item<double>())
            << what;
      }
    }
  }
}

TEST(FusedEngineTest, EqualsTheReferenceInDoubleWithEveryPartOfAttention) {
  for (const std::string architecture : kArchitectures) {
    const std::string fields = architecture == "llama" ? "kv_heads: 2" : "";
    std::vector<std::string> parts(std::begin(kAttentionParts), std::end(kAttentionParts));
    parts.push_back("query_key_norm: HEAD_LAYER gate { projected { place: QUERY } }");
    parts.push_back("query_key_norm: HEAD_RMS gate { linear {} }");
    for (const std::string& part : parts) {
      const std::string what = architecture + ", " + part;
      const auto model = SmallModel(SmallSpec(architecture, "dropout: 0.2 " + part, fields, kDropout));
      if (!model->can_fuse(layer::Place::kCpuFloat32)) continue;
      ModelInput input = SmallInput();
      ExpectTheReferenceInDouble(*model, input, SomeLabels(input), what);
    }
  }
}

TEST(FusedEngineTest, EqualsTheReferenceInDoubleWithBiasesOfSomeLinears) {
  for (const std::string fields :
       {"kv_heads: 2 qkv_biases: true", "biases: true ffn_biases: false", "gated_ffn: false score_size: 7",
        "rotary_scaling { linear { factor: 3 } }"}) {
    const auto model = SmallModel(SmallSpec("llama", "", fields, kDropout));
    ASSERT_TRUE(model->can_fuse(layer::Place::kCpuFloat32)) << fields;
    ModelInput input = SmallInput();
    ExpectTheReferenceInDouble(*model, input, SomeLabels(input), fields);
  }
}

TEST(FusedEngineTest, PartsThatItLacksAreTheReferences) {
  for (const std::string fields : {"window: 3", "head_size: 6", "rotary_share: 0.5", "parallel: true",
                                   "score_cap: 3", "logit_cap: 3", "norm_placement: PERI"}) {
    for (const layer::Place place :
         {layer::Place::kCpuFloat32, layer::Place::kCpuBfloat16, layer::Place::kGpuBfloat16})
      EXPECT_FALSE(SmallModel(SmallSpec("llama", "", fields))->can_fuse(place)) << fields;
  }
}

TEST(FusedEngineTest, RoundingIsThatOfTheFormat) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string placement : {"PRE", "POST"}) {
      const auto model =
          TrainedModel(SmallSpec(architecture, "softmax { clipped { gamma: -0.02 } }",
                                 "activation: GELU_ERF norm_placement: " + placement, kDropout));
      const ModelInput input = SmallInput(4, 12);
      const at::Tensor labels = SomeLabels(input);
      const LossAndGradients exact = Compute(*model, input, labels, Products::kReference);
      EXPECT_LT(Difference(exact, Compute(*model, input, labels, Products::kFloat32)), 2e-6) << architecture;
      ASSERT_TRUE(model->can_fuse(layer::Place::kCpuBfloat16));
      if (!layer::cpu::CanMultiply<layer::cpu::Bf16>()) continue;
      // Of the same size as that of LibTorch's autocast.
      const double fused = Difference(exact, Compute(*model, input, labels, Products::kBfloat16));
      const double autocast = Difference(exact, ComputeWithAutocast(*model, input, labels));
      EXPECT_LT(fused, 1.5 * autocast) << architecture << ", " << placement;
      EXPECT_GT(fused, autocast / 10) << architecture << ", " << placement;
    }
  }
}

TEST(FusedEngineTest, ThreadsChangeNoBit) {
  for (const std::string architecture : kArchitectures) {
    const auto model = TrainedModel(SmallSpec(architecture, "dropout: 0.1 gate { linear {} }", "", kDropout));
    const ModelInput input = SmallInput(45, 11);
    const at::Tensor labels = SomeLabels(input);
    for (const Products products : FusedProducts()) {
      at::set_num_threads(1);
      const LossAndGradients one = Compute(*model, input, labels, products);
      at::set_num_threads(2);
      ExpectEqualBits(one, Compute(*model, input, labels, products), architecture);
    }
  }
}

TEST(FusedEngineTest, TheControlEqualsTheOrdinarySoftmaxBitForBit) {
  for (const std::string architecture : kArchitectures) {
    const auto ordinary = TrainedModel(SmallSpec(architecture, "dropout: 0.1", "", kDropout));
    const auto control = TrainedModel(
        SmallSpec(architecture, "dropout: 0.1 softmax { clipped { gamma: 0 zeta: 1 } }", "", kDropout));
    const ModelInput input = SmallInput();
    const at::Tensor labels = SomeLabels(input);
    for (const Products products : AllProducts()) {
      ExpectEqualBits(Compute(*ordinary, input, labels, products), Compute(*control, input, labels, products),
                      architecture + (products == Products::kReference ? ", reference" : ", fused"));
    }
  }
}

TEST(FusedEngineTest, ImagesWithAnOddNumberOfTokens) {
  for (const std::string softmax : {"vanilla {}", "clipped { alpha: 1 }", "softmax_n { n: 1 }"}) {
    const auto made = TrainedVit("softmax { " + softmax + " }");
    Model& model = *made;
    ModelInput input;
    input.pixels = torch::randn({3, 1, 8, 8}, at::kDouble);
    const at::Tensor labels = torch::tensor({0L, 1L, 1L});
    EXPECT_LT(Difference(Compute(model, input, labels, Products::kReference),
                         Compute(model, input, labels, Products::kFloat32)),
              1e-10)
        << softmax;
  }
}

TEST(FusedEngineTest, PaddingAndPairs) {
  v1::TrialSpec spec =
      SmallSpec("bert", "softmax { ncs { beta: 0.5 length: UNPADDED zeta: 1.02 } }", "", kDropout);
  spec.mutable_data()->mutable_classification();
  const auto made = MakeModel(spec, {.classes = 4}).value();
  Model& model = *made;
  InitialiseWeights(model, spec, 1);
  model.to(at::kDouble);
  MoveWeights(model, 0.2);
  model.train();
  ModelInput input = SmallInput();
  PadSecond(input);
  input.token_type_ids = torch::zeros_like(input.ids);
  const at::Tensor labels = torch::tensor({0L, 3L, 3L});
  EXPECT_LT(Difference(Compute(model, input, labels, Products::kReference),
                       Compute(model, input, labels, Products::kFloat32)),
            1e-10);
}

}  // namespace
}  // namespace inlier
