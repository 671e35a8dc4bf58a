#include "core/quant/linear/linear_rotation.h"

#include <ATen/Functions.h>

#include <string>

#include "core/quant/linear/linear_quantization.h"
#include "core/quant/quantization_error.h"
#include "core/quant/quantizer_tap.h"
#include "tests/core/quant/tiny_decoder.h"

namespace inlier {
namespace {

constexpr char kRmsM[] = "norm: RMS_NORM_M ";
constexpr char kRmsS[] = "norm: RMS_NORM_S ";

// The largest difference of the logits when linears are rotated and nothing is rounded; the head is rotated too.
double RotationError(Model& model, const v1::TrialSpec& spec, bool ffn) {
  const torch::NoGradGuard no_grad;
  LinearQuantization rotation({.grid = LinearQuantizationOptions::Grid::kAbsmax,
                               .weights = std::nullopt,
                               .inputs = std::nullopt,
                               .outputs = std::nullopt,
                               .calibrated = false,
                               .head = true,
                               .rotation = RotationOptions{.seed = 1, .ffn = ffn},
                               .smoothing = std::nullopt,
                               .gptq = std::nullopt},
                              spec.model().architecture_case());
  const ModelInput input = RandomTokens(7);
  return (model.Logits(input, &rotation) - model.Logits(input)).abs().max().item<double>();
}

TEST(LinearRotationTest, MatricesAreOrthogonalAndTheSameForASeed) {
  for (const std::int64_t size : {1, 7, 8, 24, 40, 96}) {
    const at::Tensor q = RotationMatrix(3, "residual", size);
    EXPECT_LT((q.t().matmul(q) - torch::eye(size, torch::kDouble)).abs().max().item<double>(), 1e-13);
    EXPECT_TRUE(torch::equal(q, RotationMatrix(3, "residual", size)));
    if (size == 1) continue;
    EXPECT_FALSE(torch::equal(q, RotationMatrix(4, "residual", size)));
    EXPECT_FALSE(torch::equal(q, RotationMatrix(3, "ffn", size)));
  }
  const at::Tensor q = RotationMatrix(3, "residual", 64);
  EXPECT_TRUE(torch::allclose(q.abs(), torch::full_like(q, 0.125)))
      << "an outlier goes to all features alike";
}

TEST(LinearRotationTest, AMeanOfAllFeaturesIsSpreadToo) {
  for (const std::int64_t size : {512, 768}) {
    const at::Tensor rotated = torch::ones({1, size}, torch::kDouble).matmul(RotationMatrix(1, "ffn", size));
    EXPECT_LT(rotated.abs().max().item<double>(), 6) << size << ": that of all in one is " << std::sqrt(size);
  }
}

TEST(LinearRotationTest, ARotatedModelComputesTheSame) {
  for (const std::string& text :
       {std::string(kGpt2Sizes) + kRmsM, std::string(kGpt2Sizes) + kRmsS, std::string(kLlamaSizes) + kRmsM,
        std::string(kLlamaSizes) + kRmsS, std::string(kOptSizes), std::string(kGpt2Sizes),
        std::string(kLlamaSizes), std::string(kOptSizes) + kRmsM,
        std::string(kGpt2Sizes) + kRmsM + "attention { gate { linear {} } softmax { softmax_n {} } }"}) {
    const v1::TrialSpec spec = TrialOf(text);
    const std::shared_ptr<Model> model = MakeTinyModel(spec);
    EXPECT_LT(RotationError(*model, spec, true), 1e-10) << text;
    EXPECT_LT(RotationError(*model, spec, false), 1e-10) << text;
  }
}

TEST(LinearRotationTest, AGainOfZeroIsNoDivision) {
  for (const std::string& text : {std::string(kGpt2Sizes) + kRmsM, std::string(kGpt2Sizes)}) {
    const v1::TrialSpec spec = TrialOf(text);
    const std::shared_ptr<Model> model = MakeTinyModel(spec);
    for (const auto& parameter : model->named_parameters()) {
      const bool is_gain =
          parameter.key().find("ln_") != std::string::npos && parameter.key().ends_with("weight");
      if (is_gain) parameter.value().detach()[5] = 0;
    }
    EXPECT_LT(RotationError(*model, spec, true), 1e-10) << text;
  }
}

// LayerNorm's offset and mean, with every method that meets them.
TEST(LinearRotationTest, LayerNormIsRoundedInTheRotatedBasisToo) {
  for (const std::string sizes : {kGpt2Sizes, kOptSizes}) {
    const v1::TrialSpec spec = TrialOf(sizes);
    const std::shared_ptr<Model> model = MakeTinyModel(spec);
    for (const std::string scheme : {"absmax {}", "absmax { granularity: COARSE }",
                                     "absmax { head: true } gptq {}", "zeropoint {} gptq {}"}) {
      const std::string fine = "weights { bits: 16 } activations { bits: 16 } rotation {} " + scheme;
      EXPECT_LT(LogitError(*model, spec, fine), 2e-3) << scheme;
      const std::string coarse = "weights { bits: 4 } rotation {} " + scheme;
      EXPECT_GT(LogitError(*model, spec, coarse), 1e-3) << scheme;
    }
  }
}

TEST(LinearRotationTest, RoundingHappensInTheRotatedBasis) {
  const LinearPlace norm = {LinearSource::kNorm, "norm"}, ffn = {LinearSource::kFfn, "ffn"};
  LinearRotation rotation({.seed = 2, .ffn = true});
  torch::manual_seed(1);
  const at::Tensor gain = torch::rand({8}, torch::kDouble) + 0.5, q = RotationMatrix(2, "residual", 8),
                   h = RotationMatrix(2, "ffn", 6);
  rotation.SeeGain("norm", gain);
  const at::Tensor x = torch::randn({2, 3, 8}, torch::kDouble), weight = torch::randn({5, 8}, torch::kDouble);
  EXPECT_TRUE(torch::allclose(rotation.Input(norm, x), (x / gain).matmul(q)));
  EXPECT_TRUE(torch::allclose(rotation.Weight(norm, weight), (weight * gain).matmul(q)));
  const at::Tensor down = torch::randn({8, 6}, torch::kDouble);
  EXPECT_TRUE(torch::allclose(rotation.Weight(ffn, down), q.t().matmul(down).matmul(h)));
  EXPECT_TRUE(torch::allclose(rotation.UsedWeight(ffn, rotation.Weight(ffn, down)), down.matmul(h)));
  EXPECT_TRUE(torch::allclose(rotation.UsedOutput(ffn, rotation.Output(ffn, x)), x));
  EXPECT_TRUE(torch::allclose(rotation.Output(ffn, x), x.matmul(q)));
}

// Two channels of the residual stream forty times as large, by the embedding. In a wide model, for a rotation spreads an outlier
// over as many features as there are.
TEST(LinearRotationTest, OutliersCostLess) {
  const std::string sizes =
      "model { llama { layers: 2 hidden_size: 256 heads: 4 kv_heads: 2 ffn_size: 256 vocab_size: 50 "
      "max_positions: 16 initial_std: 0.06 } } ";
  const v1::TrialSpec spec = TrialOf(sizes + kRmsM);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.key().find("embed_tokens") == std::string::npos) continue;
    parameter.value().detach().select(1, 3).mul_(40);
    parameter.value().detach().select(1, 17).mul_(40);
  }
  const std::string bits =
      "weights { bits: 8 } activations { bits: 6 } ";  // Coarse, and no scheme's output is noise alone.
  for (const std::string scheme :
       {"absmax {}", "absmax { granularity: MODERATE }", "absmax { granularity: COARSE }",
        "absmax { granularity: COARSE calibrated: true }", "zeropoint {}"}) {
    const double plain = LogitError(*model, spec, bits + scheme),
                 rotated = LogitError(*model, spec, bits + scheme + " rotation {}");
    EXPECT_LT(rotated, 0.7 * plain) << scheme << ": " << rotated << " and " << plain;
  }
  const std::string fine = "weights { bits: 16 } activations { bits: 16 } absmax {} ";
  EXPECT_LT(LogitError(*model, spec, fine + "rotation {}"), 1e-3);
}

// The recorder sees the tensor that is rounded, and a quantizer that is left out leaves the model whole.
TEST(LinearRotationTest, QuantizersAreMeasuredAndLeftOutInTheRotatedBasis) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = TrialOf(std::string(kGpt2Sizes) + kRmsM);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const ModelInput input = RandomTokens(7);
  const auto only_inputs = CalibratedOn(*model, spec, "activations { bits: 8 } absmax {} rotation {}");
  QuantizationErrorRecorder recorder(*only_inputs);
  model->Logits(input, &recorder);
  const std::vector<QuantizerError> report = recorder.Report();
  EXPECT_EQ(report.size(), 8u) << "four linears in each of two layers, no weight";
  for (const QuantizerError& error : report) {
    EXPECT_GT(error.sqnr_db.value(), 30) << error.tensor;
    EXPECT_LT(error.sqnr_db.value(), 60) << error.tensor;
  }

  const auto all = CalibratedOn(
      *model, spec, "weights { bits: 3 } activations { bits: 3 } absmax { granularity: COARSE } rotation {}");
  QuantizationErrorRecorder of_all(*all);
  const at::Tensor exact = model->Logits(input), rounded = model->Logits(input, &of_all);
  EXPECT_EQ(of_all.Report().size(), 24u);
  const auto error_of = [&](ActivationTap& tap) {
    return (model->Logits(input, &tap) - exact).square().mean().sqrt().item<double>();
  };
  for (const QuantizerError& error : of_all.Report()) {
    EXPECT_GT(error.sqnr_db.value(), 3) << error.tensor;
    LeaveOneOut without(*all, error.tensor);
    EXPECT_LT(error_of(without), 1.3 * (rounded - exact).square().mean().sqrt().item<double>())
        << error.tensor;
  }
}

TEST(LinearRotationTest, OtherArchitecturesAreRefused) {
  const absl::Status status =
      MakeQuantization(QuantizationOf("weights {} absmax {} rotation {}"), v1::ModelSpec::kBert).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("quantization.rotation"), std::string::npos);
}

}  // namespace
}  // namespace inlier
