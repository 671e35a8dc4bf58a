#include "spec/trial/checks/low_precision_checks.h"

#include <string>

#include "gtest/gtest.h"
#include "spec/trial/unfused_part.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

std::string ErrorOfLowPrecision(const std::string& fields, const std::string& more = "",
                                const std::string& base = kTinyGpt2) {
  return ErrorOfTrial(base, "{training: {" + more + "low_precision: {" + fields + "}}}");
}

TEST(LowPrecisionChecksTest, Recipes) {
  for (const char* const recipe :
       {"weights: {bits: 8}, activations: {bits: 8, scale_axis: TOKEN}",
        "weights: {bits: 4, group_size: 100}, activations: {bits: 8}",
        "weights: {format: FP8_E4M3, group_size: 128, group_rows: 128}, activations: {format: FP8_E4M3, "
        "group_size: 128}, "
        "gradients: {format: FP8_E4M3, group_size: 128}",
        "weights: {format: MXFP4}, gradients: {format: MXFP4, stochastic_rounding: true}, hadamard_size: 64",
        "weights: {format: NVFP4, group_rows: 16}, activations: {format: NVFP4}, gradients: {format: NVFP4, "
        "stochastic_rounding: true}, hadamard_size: 16, float_last_layers: 1",
        "gradients: {format: FP8_E5M2}",
        "weights: {bits: 4}, activations: {bits: 4}, learned_scales: true"}) {
    EXPECT_EQ(ErrorOfLowPrecision(recipe), "OK") << recipe;
    EXPECT_EQ(ErrorOfLowPrecision(recipe, "batch_size: 64, ", kTinyVit), "OK") << recipe;
  }
  v1::TrialSpec spec = TrialFrom(kTinyBert);
  spec.mutable_training()->mutable_low_precision()->mutable_weights()->set_format(v1::MXFP4);
  const v1::TrialSpec resolved = ResolveAndValidate(spec).value();
  EXPECT_EQ(resolved.training().low_precision().weights().bits(), 4u);
  EXPECT_EQ(UnfusedPart(resolved), "training.low_precision");
}

TEST(LowPrecisionChecksTest, WhatIsNotForAPart) {
  EXPECT_EQ(ErrorOfLowPrecision("learned_scales: false"),
            "training.low_precision: has nothing to round; give weights, activations or gradients, for "
            "example {weights: "
            "{bits: 8}, activations: {bits: 8, scale_axis: TOKEN}}, or leave it out");
  EXPECT_EQ(ErrorOfLowPrecision("weights: {format: MXFP4, bits: 8}"),
            "training.low_precision.weights.bits: 8 is not for MXFP4, which has 4 bits: leave it out, or use "
            "INTEGER");
  EXPECT_EQ(
      ErrorOfLowPrecision("gradients: {format: NVFP4, group_size: 32}"),
      "training.low_precision.gradients.group_size: is not for NVFP4, whose blocks have 16 entries: leave it "
      "out, or use INTEGER or FP8_E4M3");
  EXPECT_EQ(ErrorOfLowPrecision("weights: {format: FP8_E4M3, group_rows: 128}"),
            "training.low_precision.weights.group_rows: has no effect without group_size, the other side of "
            "a tile: "
            "give both, or leave it out");
  EXPECT_EQ(
      ErrorOfLowPrecision("activations: {scale_axis: FEATURE}"),
      "training.low_precision.activations.scale_axis: FEATURE is a scale for each number that a product adds "
      "up, and only a scale of the whole sum can be taken out of it: use TENSOR, TOKEN or group_size");
  EXPECT_EQ(ErrorOfLowPrecision("activations: {format: MXFP8_E4M3, scale_axis: TOKEN}"),
            "training.low_precision.activations.scale_axis: TOKEN has no effect, for MXFP8_E4M3 has a scale "
            "for each "
            "block: leave it out");
  EXPECT_EQ(ErrorOfLowPrecision("activations: {group_size: 32, scale_axis: TOKEN}"),
            "training.low_precision.activations.scale_axis: TOKEN has no effect, for group_size gives each "
            "group of a "
            "row a scale: leave it out");
}

TEST(LowPrecisionChecksTest, WhatDoesNotFitTheModelOrTheBatch) {
  EXPECT_EQ(ErrorOfLowPrecision("weights: {bits: 8}, hadamard_size: 16"),
            "training.low_precision.hadamard_size: 16 has no effect, for it rotates activations and "
            "gradients before "
            "they are rounded, and both stay float: give one of them, or leave it out");
  EXPECT_EQ(
      ErrorOfLowPrecision("gradients: {bits: 8}, hadamard_size: 24"),
      "training.low_precision.hadamard_size: 24 is not a power of two from 2 on, as a Hadamard matrix needs: "
      "give 16, or leave it out");
  EXPECT_EQ(
      ErrorOfLowPrecision("gradients: {bits: 8}, hadamard_size: 1024", "batch_size: 3, "),
      "training.low_precision.hadamard_size: 1024 does not divide the 384 tokens of a micro-batch, "
      "training.batch_size 3 times 128: choose another batch size or length, or a smaller power of two");
  // 49 patches and the class token, with 3 registers.
  EXPECT_EQ(
      ErrorOfTrial(
          kTinyVit,
          "{model: {vit: {registers: 3}}, training: {batch_size: 4, low_precision: {gradients: {bits: 8}, "
          "hadamard_size: 8}}}"),
      "training.low_precision.hadamard_size: 8 does not divide the 212 tokens of a micro-batch, "
      "training.batch_size 4 times 53: choose another batch size or length, or a smaller power of two");
  EXPECT_EQ(ErrorOfLowPrecision("weights: {bits: 8}, float_first_layers: 1, float_last_layers: 9"),
            "training.low_precision.float_first_layers: the first and last layers that stay float, 10 in "
            "all, leave "
            "none of the 4 of model.gpt2 to round: give fewer");
}

TEST(LowPrecisionChecksTest, LearnedScalesAreOfWholeTensorsOfIntegers) {
  const std::string remedy =
      ": use format: INTEGER with scale_axis: TENSOR and no groups, or leave out learned_scales";
  EXPECT_EQ(
      ErrorOfLowPrecision("weights: {format: FP8_E4M3}, learned_scales: true"),
      "training.low_precision.weights.format: FP8_E4M3 has its own scales, and learned_scales learns them" +
          remedy);
  EXPECT_EQ(ErrorOfLowPrecision("activations: {scale_axis: TOKEN}, learned_scales: true"),
            "training.low_precision.activations.scale_axis: gives a tensor several scales, and "
            "learned_scales learns one" +
                remedy);
  EXPECT_EQ(ErrorOfLowPrecision("weights: {group_size: 32}, learned_scales: true"),
            "training.low_precision.weights.group_size: gives a tensor several scales, and learned_scales "
            "learns one" +
                remedy);
  EXPECT_EQ(ErrorOfLowPrecision("weights: {stochastic_rounding: true}, learned_scales: true"),
            "training.low_precision.weights.stochastic_rounding: true is not with learned_scales, whose "
            "gradient is "
            "that of rounding to the nearest: leave out one of them");
  EXPECT_EQ(ErrorOfLowPrecision("gradients: {bits: 8}, learned_scales: true"),
            "training.low_precision.learned_scales: true has no effect, for it learns the scales of weights "
            "and activations, "
            "which stay float: give one of them, or leave it out\n"
            "training.low_precision.learned_scales: true is not with gradients, for which no loss gives a "
            "scale: leave out one of them");
  EXPECT_EQ(ErrorOfLowPrecision("activations: {bits: 8}, hadamard_size: 16, learned_scales: true"),
            "training.low_precision.learned_scales: true is not with hadamard_size, after which other scales "
            "would be "
            "needed: leave out one of them");
}

}  // namespace
}  // namespace inlier
