#include "spec/trial/checks/quantization_method_checks.h"

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
        "{weights: {bits: 4, group_size: 32}, zeropoint: {}, awq: {}, gptq: {}}",
        "{weights: {format: MXFP4}, activations: {}, absmax: {}, awq: {}}",
        "{weights: {format: NVFP4}, absmax: {}, awq: {clip: false}}",
        "{weights: {bits: 4}, activations: {}, absmax: {granularity: MODERATE, calibrated: true}, awq: "
        "{clip: "
        "false}}",
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
            "or use INTEGER or FP8_E4M3");
  EXPECT_EQ(ErrorOf(kGpt2, "{activations: {format: MXINT8, group_size: 32}, absmax: {}}"),
            "quantization.activations.group_size: is not for MXINT8, whose blocks have 32 entries: leave it "
            "out, or use INTEGER or FP8_E4M3");
}

TEST(QuantizationMethodChecksTest, GroupsAndTilesArePartsOfRows) {
  const std::string tiles =
      "{weights: {format: FP8_E4M3, group_size: 128, group_rows: 128}, activations: {format: FP8_E4M3, "
      "group_size: 128}, absmax: ";
  EXPECT_EQ(ErrorOf(kGpt2, tiles + "{}}"), "OK");
  EXPECT_EQ(ErrorOf(kGpt2, "{activations: {group_size: 64}, zeropoint: {activation_axis: TOKEN}}"), "OK");
  EXPECT_EQ(
      ErrorOf(kGpt2, tiles + "{granularity: COARSE}}"),
      "quantization.weights.group_size: has no effect, for COARSE has one scale a tensor: leave it out, or "
      "use granularity: FINE\n"
      "quantization.weights.group_rows: has no effect, for COARSE has one scale a tensor: leave it out, or "
      "use granularity: FINE\n"
      "quantization.activations.group_size: has no effect, for COARSE has one scale a tensor: leave it out, "
      "or use granularity: FINE");
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {group_rows: 8}, absmax: {}}"),
            "quantization.weights.group_rows: has no effect without group_size, the other side of a tile: "
            "give both, or leave it out");
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {group_rows: 8, group_size: 8}, zeropoint: {}}"),
            "quantization.weights.group_rows: is not for the scheme zeropoint, which has one range a row or "
            "group: use quantization.absmax, or leave it out");
  EXPECT_EQ(ErrorOf(kGpt2, "{activations: {group_size: 64}, absmax: {activation_axis: FEATURE}}"),
            "quantization.activations.group_size: is a part of a token's features, and activation_axis is "
            "FEATURE: use activation_axis: TOKEN, or leave it out");
  EXPECT_EQ(ErrorOf("model: {opt: {preset: tiny}}", "{activations: {group_size: 64}}"),
            "quantization.activations.group_size: is not for the scheme reference, which has one range a "
            "tensor or a channel: use quantization.absmax or quantization.zeropoint, or leave it out");
}

TEST(QuantizationMethodChecksTest, KivisGroupsFitHeadAndWindow) {
  EXPECT_EQ(ErrorOf(kGpt2, "{kv_cache: {bits: 2, kivi: {}}, absmax: {}}"), "OK");
  EXPECT_EQ(
      ErrorOf(kGpt2, "{kv_cache: {bits: 2, kivi: {group_size: 24, residual: 100}}, absmax: {}}"),
      "quantization.kv_cache.kivi.residual: 100 is not a multiple of group_size 24, and keys are "
      "rounded in whole groups: give a multiple\n"
      "quantization.kv_cache.kivi.group_size: 24 does not divide the width of a head of model.gpt2, 32, "
      "and values are rounded in whole groups");
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
  for (const std::string architecture : {"gpt2", "opt"})
    EXPECT_EQ(ErrorOf("model: {" + architecture + ": {preset: tiny}}", quantization), "OK");
  EXPECT_EQ(ErrorOf("norm: RMS_NORM_S, model: {gpt2: {preset: tiny, norm_placement: POST}}", quantization),
            "quantization.rotation: is not for norm_placement: POST, which has no norm before each half of a "
            "layer alone: train with PRE, or leave it out");
  EXPECT_EQ(ErrorOf("norm: DYT, model: {gpt2: {preset: tiny, norm_placement: PERI}}", quantization),
            "quantization.rotation: is not for norm: DYT, which treats each feature by itself, and a "
            "rotation mixes "
            "them: train with LAYER_NORM, RMS_NORM_M or RMS_NORM_S, or leave it out\n"
            "quantization.rotation: is not for norm_placement: PERI, which has no norm before each half of a "
            "layer alone: train with PRE, or leave it out");
  EXPECT_EQ(ErrorOf(std::string(kLlama) + ", norm_gate: 16", quantization),
            "quantization.rotation: is not for norm_gate, which scales each of the features that a rotation "
            "mixes: train without it, or leave it out");
  const std::string gated = std::string(kLlama) + ", attention: {gate: {projected: {place: ";
  EXPECT_EQ(ErrorOf(gated + "CONTEXT}}}", quantization), "OK");
  EXPECT_EQ(ErrorOf(gated + "OUTPUT}}}", quantization),
            "quantization.rotation: is not for attention.gate.projected.place: OUTPUT, which scales features "
            "of the residual stream that a rotation mixes: train with CONTEXT, or leave it out");
  EXPECT_EQ(ErrorOf("norm: RMS_NORM_M, model: {bert: {preset: tiny}}", quantization),
            "quantization.rotation: is not for model.bert: use model.opt, model.gpt2 or model.llama, or "
            "leave it out");
  EXPECT_EQ(ErrorOf("model: {opt: {preset: tiny, embedding_size: 8}}", quantization),
            "quantization.rotation: is not for a model.opt.embedding_size other than hidden_size, whose head "
            "reads a "
            "projection and no norm: leave it out");
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {}, absmax: {}, rotation: {kv_cache: true}}"),
            "quantization.rotation.kv_cache: has no effect, for keys and values are not rounded: give "
            "quantization.kv_cache, or leave it out");
  EXPECT_EQ(ErrorOf(kLlama, "{kv_cache: {}, absmax: {}, rotation: {kv_cache: true}}"), "OK");
  EXPECT_EQ(
      ErrorOf(kLlama, "{kv_cache: {}, absmax: {}, rotation: {}}"),
      "quantization.rotation: has no effect, for the linears stay float: give quantization.weights and/or "
      "quantization.activations, or leave it out");
}

TEST(QuantizationMethodChecksTest, ALearnedRotationNeedsWhatIsRoundedAndCalibration) {
  const std::string learned = "absmax: {}, rotation: {learned: {}}}";
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {}, " + learned), "OK");
  EXPECT_EQ(ErrorOf(kGpt2, "{activations: {}, calibration: {batches: 4}, " + learned), "OK");
  EXPECT_EQ(ErrorOf(kLlama, "{kv_cache: {}, absmax: {}, rotation: {kv_cache: true, learned: {}}}"), "OK");
  EXPECT_EQ(
      ErrorOf(kLlama, "{kv_cache: {}, " + learned),
      "quantization.rotation: has no effect, for the linears stay float: give quantization.weights and/or "
      "quantization.activations, or leave it out");
  EXPECT_EQ(
      ErrorOf(kLlama, "{weights: {}, absmax: {}, rotation: {}, calibration: {batches: 4}}"),
      "quantization.calibration: has no effect, for only the ranges of activations are calibrated: give "
      "quantization.activations, or leave it out");
  EXPECT_TRUE(ResolvedQuantization("{weights: {}, " + learned).has_calibration());
  EXPECT_EQ(
      TrialError("quantization: {rotation: {learned: {steps: 0}}}"),
      "f.yaml:1:44: quantization.rotation.learned.steps: 0 is out of range: give a whole number from 1 to "
      "1000000");
  EXPECT_EQ(TrialError("quantization: {rotation: {learned: {learning_rate: 0}}}"),
            "f.yaml:1:52: quantization.rotation.learned.learning_rate: 0 is out of range: give a number "
            "above 0 and at most 1000000");
}

TEST(QuantizationMethodChecksTest, AClipRatioIsOfTheLargestMagnitude) {
  const std::string clipped = "{activations: {bits: 4, clip_ratio: 0.9}, ";
  EXPECT_EQ(ErrorOf(kLlama, clipped + "absmax: {}}"), "OK");
  EXPECT_EQ(ErrorOf(kLlama, clipped + "zeropoint: {}}"),
            "quantization.activations.clip_ratio: is for the scheme absmax, whose scales are of the largest "
            "magnitude: "
            "use quantization.absmax, or leave it out");
  EXPECT_EQ(ErrorOf(kLlama, "{activations: {format: NVFP4, clip_ratio: 0.9}, absmax: {}}"),
            "quantization.activations.clip_ratio: is not for NVFP4, which has scales of its own: leave it "
            "out, or use "
            "INTEGER or FP8_E4M3");
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

TEST(QuantizationMethodChecksTest, AwqScalesWeightsAndNarrowsRangesOfTheirOwn) {
  EXPECT_EQ(ErrorOf(kLlama, "{activations: {}, absmax: {}, awq: {}}"),
            "quantization.awq: scales weights before they are rounded, and they stay float: give "
            "quantization.weights, or leave it out");
  for (const std::string method : {"rotation", "smoothing"}) {
    EXPECT_EQ(ErrorOf(kLlama, "{weights: {}, activations: {}, absmax: {}, awq: {}, " + method + ": {}}"),
              "quantization.awq: scales the features that quantization." + method +
                  " changes too: give one of them");
  }
  const std::string clip = "quantization.awq.clip: narrows the range of each row or group by itself, and ";
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {}, absmax: {granularity: MODERATE}, awq: {}}"),
            clip + "MODERATE has one scale a tensor: use granularity: FINE, or clip: false");
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {group_size: 32, group_rows: 32}, absmax: {}, awq: {}}"),
            clip + "the rows of a tile share one: leave quantization.weights.group_rows out, or clip: false");
  EXPECT_EQ(ErrorOf(kLlama, "{weights: {format: NVFP4}, absmax: {}, awq: {}}"),
            clip +
                "those of NVFP4 hang on one of the tensor: use another quantization.weights.format, or clip: "
                "false");
}

TEST(QuantizationMethodChecksTest, MethodsOfLinearsAreNotForTheReference) {
  for (const std::string method : {"rotation", "smoothing", "gptq", "awq"}) {
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

TEST(QuantizationMethodChecksTest, SmoothingGptqAndAwqAreCalibrated) {
  for (const std::string method : {"gptq", "awq"}) {
    EXPECT_TRUE(ResolvedQuantization("{weights: {}, absmax: {}, " + method + ": {}}").has_calibration());
  }
  EXPECT_TRUE(
      ResolvedQuantization("{weights: {}, activations: {}, zeropoint: {}, smoothing: {}}").has_calibration());
  EXPECT_FALSE(ResolvedQuantization("{weights: {}, activations: {}, absmax: {}, rotation: {}, kv_cache: {}}")
                   .has_calibration());
  EXPECT_EQ(ErrorOf(kGpt2, "{weights: {}, zeropoint: {}, gptq: {}, calibration: {batches: 4}}"), "OK");
}

TEST(QuantizationMethodChecksTest, SmoothingNeedsNorms) {
  EXPECT_EQ(ErrorOf("model: {gpt2: {preset: tiny, norm_placement: ENDS}}",
                    "{weights: {}, activations: {}, absmax: {}, smoothing: {}}"),
            "quantization.smoothing: goes into the norms before linears, which norm_placement: ENDS has not: "
            "leave it "
            "out, or train with PRE");
}

TEST(QuantizationMethodChecksTest, GptqByLayersAndWithDynamicGroups) {
  const auto of = [](const std::string& weights, const std::string& gptq, const std::string& more = "") {
    return ErrorOf(kLlama,
                   "{weights: {bits: 4" + weights + "}, absmax: {}, gptq: {" + gptq + "}" + more + "}");
  };
  EXPECT_EQ(of(", group_size: 64", "layer_by_layer: true, dynamic_groups: true"), "OK");
  EXPECT_EQ(of("", "dynamic_groups: true"),
            "quantization.gptq.dynamic_groups: is of groups of a row: give quantization.weights.group_size, "
            "without "
            "group_rows, or leave it out");
  EXPECT_EQ(
      of(", group_size: 64", "dynamic_groups: true, by_size: true"),
      "quantization.gptq.dynamic_groups: is reached channel after channel, and by_size takes them in another "
      "order: give one of them");
  EXPECT_EQ(of("", "layer_by_layer: true", ", activations: {}, smoothing: {}"),
            "quantization.gptq.layer_by_layer: reads the inputs of one layer after another, and "
            "quantization.smoothing needs those of the float model: leave one of the two out");
}

}  // namespace
}  // namespace inlier
