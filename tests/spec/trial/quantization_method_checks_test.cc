#include "spec/trial/quantization_method_checks.h"

#include <string>

#include "gtest/gtest.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

constexpr char kGpt2[] = "norm: RMS_NORM_M, model: {gpt2: {preset: tiny}}";
constexpr char kLlama[] = "model: {llama: {preset: tiny}}";

// The problems of a model under `quantization`, or "OK".
std::string ErrorOf(const std::string& model, const std::string& quantization) {
  const v1::TrialSpec spec =
      TrialFrom("{" + model +
                ", data: {text: {corpus: kjv}}, training: {steps: 9}, quantization: " + quantization + "}");
  return MessageOf(ResolveAndValidate(spec).status());
}

v1::QuantizationSpec ResolvedQuantization(const std::string& quantization) {
  return ResolveAndValidate(TrialFrom(std::string("{") + kGpt2 +
                                      ", data: {text: {corpus: kjv}}, training: {steps: 9}, quantization: " +
                                      quantization + "}"))
      .value()
      .quantization();
}

TEST(QuantizationMethodChecksTest, WhatGoesTogether) {
  for (const char* quantization :
       {"{weights: {bits: 4}, activations: {bits: 4}, absmax: {}, rotation: {}, gptq: {}, kv_cache: {}}",
        "{weights: {bits: 4}, activations: {bits: 4}, absmax: {}, smoothing: {}, gptq: {by_size: true}}",
        "{weights: {bits: 4, group_size: 32}, zeropoint: {}, gptq: {}}",
        "{weights: {format: NVFP4}, activations: {format: NVFP4}, absmax: {}, gptq: {}, rotation: {ffn: "
        "false}}",
        "{weights: {format: FP8_E4M3}, activations: {format: FP8_E5M2}, absmax: {granularity: COARSE, "
        "calibrated: true}}",
        "{weights: {format: MXFP4}, activations: {bits: 8}, absmax: {activation_axis: FEATURE}}",
        "{kv_cache: {bits: 2}, absmax: {}}"}) {
    EXPECT_EQ(ErrorOf(kGpt2, quantization), "OK") << quantization;
    EXPECT_EQ(ErrorOf(kLlama, quantization), "OK") << quantization;
  }
  EXPECT_EQ(ErrorOf("model: {opt: {preset: tiny}}", "{weights: {}, activations: {}, kv_cache: {}}"), "OK");
  EXPECT_EQ(
      ErrorOf("model: {bert: {preset: tiny}}", "{weights: {}, activations: {}, absmax: {}, smoothing: {}}"),
      "OK");
}

TEST(QuantizationMethodChecksTest, AFormatHasItsOwnBits) {
  const v1::QuantizationSpec fp4 =
      ResolvedQuantization("{weights: {format: MXFP4}, activations: {format: FP8_E4M3}, absmax: {}}");
  EXPECT_EQ(fp4.weights().bits(), 4u);
  EXPECT_EQ(fp4.activations().bits(), 8u);
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {format: NVFP4, bits: 4}, absmax: {}}"), "OK");
  EXPECT_EQ(
      ErrorOf(kGpt2,
              "{weights: {format: NVFP4, bits: 8}, activations: {format: FP8_E4M3, bits: 6}, absmax: {}}"),
      "quantization.weights.bits: 8 is not for NVFP4, which has 4 bits: leave it out, or use INTEGER\n"
      "quantization.activations.bits: 6 is not for FP8_E4M3, which has 8 bits: leave it out, or use INTEGER");
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {format: MXFP4, group_size: 32}, absmax: {}}"),
            "quantization.weights.group_size: is not for MXFP4, whose blocks have 32 entries: leave it out, "
            "or use INTEGER");
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {format: FP8_E5M2, group_size: 32}, absmax: {}}"),
            "quantization.weights.group_size: is not for FP8_E5M2, which has one scale a row or tensor: "
            "leave it out, or use "
            "INTEGER");
}

TEST(QuantizationMethodChecksTest, FormatsAreForAbsmaxAndBlocksForItsRows) {
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {format: FP8_E4M3}, zeropoint: {}}"),
            "quantization.weights.format: FP8_E4M3 is for the scheme absmax, and not for zeropoint, which "
            "rounds to "
            "integers: use quantization.absmax, or INTEGER");
  EXPECT_EQ(ErrorOf("model: {opt: {preset: tiny}}", "{activations: {format: NVFP4}}"),
            "quantization.activations.format: NVFP4 is for the scheme absmax, and not for reference, which "
            "rounds to "
            "integers: use quantization.absmax, or INTEGER");
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {format: NVFP4}, absmax: {granularity: MODERATE}}"),
            "quantization.weights.format: NVFP4 has a scale for each block of a row, and MODERATE has one a "
            "tensor: use "
            "granularity: FINE, or FP8_E4M3");
  EXPECT_EQ(ErrorOf(kGpt2, "{activations: {format: MXFP4}, absmax: {activation_axis: FEATURE}}"),
            "quantization.absmax.activation_axis: FEATURE is not for MXFP4, which has a scale for each block "
            "of a token's "
            "features: leave it out, or use another quantization.activations.format");
}

TEST(QuantizationMethodChecksTest, ARotationNeedsNormsThatItCommutesWith) {
  const std::string quantization = "{weights: {}, absmax: {}, rotation: {}}";
  EXPECT_EQ(ErrorOf("model: {gpt2: {preset: tiny}}", quantization),
            "quantization.rotation: is not for norm: LAYER_NORM, which takes a mean of features that a "
            "rotation mixes: train "
            "with norm: RMS_NORM_M or RMS_NORM_S, or leave it out");
  EXPECT_EQ(ErrorOf("norm: RMS_NORM_S, model: {gpt2: {preset: tiny, norm_placement: POST}}", quantization),
            "quantization.rotation: is not for norm_placement: POST, whose gains scale the residual stream "
            "itself: train with "
            "PRE, or leave it out");
  const std::string gated = std::string(kLlama) + ", attention: {gate: {projected: {place: ";
  EXPECT_EQ(ErrorOf(gated + "CONTEXT}}}", quantization), "OK");
  EXPECT_EQ(ErrorOf(gated + "OUTPUT}}}", quantization),
            "quantization.rotation: is not for attention.gate.projected.place: OUTPUT, which scales features "
            "of the residual stream that a rotation mixes: train with CONTEXT, or leave it out");
  for (const std::string architecture : {"opt", "bert"}) {
    EXPECT_EQ(ErrorOf("norm: RMS_NORM_M, model: {" + architecture + ": {preset: tiny}}", quantization),
              "quantization.rotation: is not for model." + architecture +
                  ": use model.gpt2 or model.llama with RMSNorm, or leave it out");
  }
  EXPECT_EQ(
      ErrorOf(kLlama, "{kv_cache: {}, absmax: {}, rotation: {}}"),
      "quantization.rotation: has no effect, for the linears stay float: give quantization.weights and/or "
      "quantization.activations, or leave it out");
}

TEST(QuantizationMethodChecksTest, SmoothingIsBetweenActivationsAndWeights) {
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {}, absmax: {}, smoothing: {}}"),
            "quantization.smoothing: moves the size of activations into weights before both are rounded, and "
            "activations stay "
            "float: give quantization.activations, or leave it out");
  EXPECT_EQ(ErrorOf(kLlama, "{activations: {}, absmax: {}, smoothing: {}}"),
            "quantization.smoothing: moves the size of activations into weights before both are rounded, and "
            "weights stay "
            "float: give quantization.weights, or leave it out");
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {}, activations: {}, absmax: {}, smoothing: {}, rotation: {}}"),
            "quantization.smoothing: is undone by quantization.rotation, which divides a norm's output by "
            "its gain and so by "
            "the factors: give one of them");
}

TEST(QuantizationMethodChecksTest, GptqRoundsWeightsWithScalesOfRows) {
  EXPECT_EQ(
      ErrorOf(kLlama, "{activations: {}, absmax: {}, gptq: {}}"),
      "quantization.gptq: rounds weights, which stay float: give quantization.weights, or leave it out");
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {}, absmax: {granularity: MODERATE}, gptq: {}}"),
            "quantization.gptq: needs a scale for each row or group, and MODERATE has one a tensor: use "
            "granularity: FINE, or "
            "leave it out");
}

TEST(QuantizationMethodChecksTest, MethodsOfLinearsAreNotForTheReference) {
  for (const std::string method : {"rotation", "smoothing", "gptq"}) {
    EXPECT_EQ(ErrorOf("model: {opt: {preset: tiny}}", "{weights: {}, activations: {}, " + method + ": {}}"),
              "quantization." + method +
                  ": is not for the scheme reference, which rounds tensors between the linears too: use "
                  "quantization.absmax or quantization.zeropoint, or leave it out");
  }
}

TEST(QuantizationMethodChecksTest, OnlyModelsThatGoFromTokenToTokenHaveACache) {
  EXPECT_EQ(ErrorOf("model: {bert: {preset: tiny}}", "{weights: {}, kv_cache: {}}"),
            "quantization.kv_cache: is not for model.bert, which keeps no keys and values from token to "
            "token: use model.opt, "
            "model.gpt2 or model.llama, or leave it out");
  EXPECT_EQ(ErrorOf(kLlama, "{kv_cache: {bits: 16}, absmax: {}}"), "OK");
  EXPECT_EQ(TrialError("quantization: {kv_cache: {bits: 17}}"),
            "f.yaml:1:33: quantization.kv_cache.bits: 17 is out of range: give a whole number from 2 to 16");
}

TEST(QuantizationMethodChecksTest, SmoothingAndGptqAreCalibrated) {
  EXPECT_TRUE(ResolvedQuantization("{weights: {}, absmax: {}, gptq: {}}").has_calibration());
  EXPECT_TRUE(
      ResolvedQuantization("{weights: {}, activations: {}, zeropoint: {}, smoothing: {}}").has_calibration());
  EXPECT_FALSE(ResolvedQuantization("{weights: {}, activations: {}, absmax: {}, rotation: {}, kv_cache: {}}")
                   .has_calibration());
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {}, zeropoint: {}, gptq: {}, calibration: {batches: 4}}"), "OK");
}

}  // namespace
}  // namespace inlier
