// A small GPT-2 or Llama with random weights, gains too, for tests of quantizations of a whole model.
#ifndef INLIER_TESTS_CORE_QUANT_TINY_DECODER_H_
#define INLIER_TESTS_CORE_QUANT_TINY_DECODER_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>
#include <string>

#include "core/models/make_model.h"
#include "core/quant/make_quantization.h"

namespace inlier {

inline constexpr char kRmsNorm[] = "norm: RMS_NORM_M ";
inline constexpr char kGpt2Sizes[] =
    "model { gpt2 { layers: 2 hidden_size: 24 heads: 4 ffn_size: 40 vocab_size: 50 max_positions: 16 "
    "initial_std: 0.2 } } ";
inline constexpr char kLlamaSizes[] =
    "model { llama { layers: 2 hidden_size: 32 heads: 4 kv_heads: 2 ffn_size: 48 vocab_size: 50 "
    "max_positions: "
    "16 initial_std: 0.2 } } ";
inline constexpr char kOptSizes[] =
    "model { opt { layers: 2 hidden_size: 32 heads: 4 ffn_size: 48 vocab_size: 50 max_positions: 16 "
    "initial_std: 0.2 } } ";

inline v1::TrialSpec TrialOf(const std::string& text) {
  v1::TrialSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

inline v1::QuantizationSpec QuantizationOf(const std::string& text) {
  v1::QuantizationSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

// In double; gains and biases are random.
inline std::shared_ptr<Model> MakeTinyModel(const v1::TrialSpec& spec) {
  at::set_num_threads(1);
  auto model = MakeModel(spec).value();
  InitialiseWeights(*model, spec, 3);
  model->to(torch::kDouble);
  model->eval();
  torch::manual_seed(4);
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.value().dim() == 1) parameter.value().add_(torch::randn_like(parameter.value()) * 0.3);
  }
  return model;
}

inline ModelInput RandomTokens(std::uint64_t seed) {
  torch::manual_seed(seed);
  ModelInput input;
  input.ids = torch::randint(50, {3, 12}, torch::kLong);
  return input;
}

// The loss on the random tokens of update `update`, which `quantization` sees too: three batches, again and again.
inline at::Tensor LossOfTokens(Model& model, std::int64_t update, ActivationTap* tap) {
  const ModelInput input = RandomTokens(static_cast<std::uint64_t>(100 + update % 3));
  return model.Loss(input, input.ids, tap);
}

// Learned and calibrated with three batches where it needs any, and frozen.
inline std::unique_ptr<Quantization> CalibratedOn(Model& model, const v1::TrialSpec& spec,
                                                  const std::string& quantization) {
  auto made = MakeQuantization(QuantizationOf(quantization), spec.model().architecture_case()).value();
  EXPECT_EQ(made->Learn([&](std::int64_t update) { return LossOfTokens(model, update, made.get()); }),
            absl::OkStatus());
  const torch::NoGradGuard no_grad;
  for (bool again = made->needs_calibration(); again; again = made->EndRun().value()) {
    for (std::uint64_t batch = 0; batch < 3; ++batch) model.Logits(RandomTokens(100 + batch), made.get());
  }
  EXPECT_EQ(made->Freeze(), absl::OkStatus());
  return made;
}

// Root of the mean square of the difference of the logits from those in float.
inline double LogitError(Model& model, const v1::TrialSpec& spec, const std::string& quantization) {
  const torch::NoGradGuard no_grad;
  const std::unique_ptr<Quantization> tap = CalibratedOn(model, spec, quantization);
  const ModelInput input = RandomTokens(7);
  return (model.Logits(input, tap.get()) - model.Logits(input)).square().mean().sqrt().item<double>();
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_QUANT_TINY_DECODER_H_
