#include "spec/trial/checks/quantization_checks.h"

#include <string>

#include "gtest/gtest.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

// The problems of the tiny model of `base` under `quantization`, or "OK".
std::string ErrorOfQuantization(const char* base, const std::string& quantization) {
  return ErrorOfTrial(base, "{quantization: " + quantization + "}");
}

std::string ErrorOfArchitecture(const std::string& model, const std::string& quantization) {
  const v1::TrialSpec spec = TrialFrom("{model: {" + model +
                                       "}, data: {text: {corpus: kjv}}, training: {steps: 9}, "
                                       "quantization: " +
                                       quantization + "}");
  return std::string(ResolveAndValidate(spec).status().message());
}

TEST(QuantizationChecksTest, TheReferenceIsForBertOptAndVit) {
  EXPECT_EQ(ErrorOfQuantization(kTinyBert, "{weights: {}, activations: {}}"), "OK");
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{weights: {}, reference: {setup: FP32_HEAD_INT16_ALL_LN}}"), "OK");
  EXPECT_EQ(ErrorOfArchitecture("gpt2: {preset: tiny}", "{weights: {}}"),
            "quantization.reference: places quantizers where the reference has them, and it has no "
            "model.gpt2: "
            "use quantization.absmax or quantization.zeropoint");
  EXPECT_EQ(ErrorOfArchitecture("llama: {preset: tiny}", "{weights: {}, reference: {setup: ALL}}"),
            "quantization.reference: places quantizers where the reference has them, and it has no "
            "model.llama: "
            "use quantization.absmax or quantization.zeropoint");
  EXPECT_EQ(ErrorOfQuantization(kTinyVit, "{weights: {}, activations: {}}"), "OK");
  EXPECT_EQ(ErrorOfQuantization(kTinyVit, "{weights: {}, reference: {setup: FP32_HEAD_INT16_ALL_LN}}"), "OK");
  EXPECT_EQ(ErrorOfArchitecture("gpt2: {preset: tiny}", "{weights: {}, absmax: {head: true}}"), "");
  EXPECT_EQ(ErrorOfArchitecture("llama: {preset: tiny}", "{weights: {bits: 4}, zeropoint: {}}"), "");
}

TEST(QuantizationChecksTest, TheHeadOfVitIsQuantizedWhereNothingIsSaid) {
  const auto setup_of = [](const char* base, const std::string& quantization) {
    v1::TrialSpec spec = TrialFrom(base);
    spec.MergeFrom(TrialFrom("{quantization: " + quantization + "}"));
    return ResolveAndValidate(spec).value().quantization().reference().setup();
  };
  using Setup = v1::ReferenceSchemeSpec;
  EXPECT_EQ(setup_of(kTinyVit, "{weights: {}}"), Setup::ALL);
  EXPECT_EQ(setup_of(kTinyVit, "{weights: {}, reference: {}}"), Setup::ALL);
  EXPECT_EQ(setup_of(kTinyVit, "{weights: {}, reference: {setup: FP32_HEAD}}"), Setup::FP32_HEAD);
  EXPECT_EQ(setup_of(kTinyOpt, "{weights: {}}"), Setup::FP32_HEAD);
  EXPECT_EQ(setup_of(kTinyBert, "{weights: {}}"), Setup::FP32_HEAD);
}

TEST(QuantizationChecksTest, EveryRangeOfTheReferenceCanBeHad) {
  for (const char* range : {"running_minmax: {momentum: 0.5, percentile: 99}", "minmax: {}", "mse: {}",
                            "mse_search: {}", "percentile: {p: 99.9}"}) {
    EXPECT_EQ(ErrorOfQuantization(kTinyBert, std::string("{activations: {range: {") + range + "}}}"), "OK")
        << range;
  }
  EXPECT_EQ(ErrorOfQuantization(kTinyBert, "{weights: {per_channel: true, range: {percentile: {}}}}"), "OK");
  EXPECT_EQ(ErrorOfQuantization(kTinyBert, "{weights: {per_channel: true, range: {mse: {}}}}"), "OK");
  EXPECT_EQ(
      ErrorOfQuantization(kTinyBert, "{weights: {per_channel: true, symmetric: false, range: {mse: {}}}}"),
      "quantization.weights.per_channel: true with range.mse needs symmetric: true, for an asymmetric search "
      "knows one range a tensor");
}

TEST(QuantizationChecksTest, ASearchThatWouldNotEndIsRefused) {
  EXPECT_EQ(ErrorOfQuantization(kTinyBert, "{activations: {bits: 16, symmetric: true, range: {mse: {}}}}"),
            "OK");
  EXPECT_EQ(ErrorOfQuantization(kTinyBert, "{activations: {bits: 16, range: {mse_search: {}}}}"), "OK")
      << "its cost does not grow with the bits";
  EXPECT_EQ(ErrorOfQuantization(kTinyBert, "{activations: {bits: 16, range: {mse: {}}}}"),
            "quantization.activations.range.mse: an asymmetric search with 16 bits tries too many ranges to "
            "end, it can "
            "be had up to 8: use symmetric: true, or another range");
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt,
                                "{weights: {symmetric: false, range: {mse: {}}}, reference: {setup: "
                                "FP32_HEAD_INT16_ALL_LN}}"),
            "quantization.weights.range.mse: an asymmetric search with the 16 bits that "
            "FP32_HEAD_INT16_ALL_LN gives "
            "to norms tries too many ranges to end: use symmetric: true, or another range");
}

TEST(QuantizationChecksTest, AbsmaxAndZeropointCanBeHadByHalves) {
  for (const char* parts : {"weights: {bits: 4}", "activations: {}", "weights: {}, activations: {bits: 6}"}) {
    EXPECT_EQ(ErrorOfQuantization(kTinyOpt, std::string("{") + parts + ", absmax: {}}"), "OK") << parts;
    EXPECT_EQ(ErrorOfQuantization(kTinyBert, std::string("{") + parts + ", zeropoint: {}}"), "OK") << parts;
  }
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{absmax: {}}"),
            "quantization: has nothing to quantize; give weights, activations or kv_cache, for example "
            "{weights: {bits: 8}, activations: {bits: 8}}");
}

TEST(QuantizationChecksTest, WhatAbsmaxDoesNotReadIsRefused) {
  EXPECT_EQ(
      ErrorOfQuantization(
          kTinyOpt,
          "{weights: {symmetric: false, per_channel: true, range: {mse: {}}}, activations: "
          "{symmetric: true, range: {running_minmax: {momentum: 0.5, percentile: 99}}}, absmax: "
          "{}}"),
      "quantization.weights.symmetric: false has no effect with absmax, which is symmetric: leave it out\n"
      "quantization.weights.per_channel: true has no effect with absmax, whose granularity decides it: leave "
      "it "
      "out\n"
      "quantization.weights.range: mse has no effect with absmax, whose scales come from each tensor's own "
      "extremes: leave it out\n"
      "quantization.activations.symmetric: true has no effect with absmax, which is symmetric: leave it out\n"
      "quantization.activations.range.running_minmax.momentum: 0.5 has no effect with absmax, whose scales "
      "come "
      "from each tensor's own extremes: leave it out\n"
      "quantization.activations.range.running_minmax.percentile: 99 has no effect with absmax, whose scales "
      "come "
      "from each tensor's own extremes: leave it out");
}

TEST(QuantizationChecksTest, WhatZeropointDoesNotReadIsRefused) {
  EXPECT_EQ(ErrorOfQuantization(
                kTinyOpt,
                "{weights: {per_channel: true, range: {percentile: {}}}, activations: {range: {minmax: "
                "{}}}, zeropoint: {}}"),
            "quantization.weights.per_channel: true has no effect with zeropoint, which has one range a row: "
            "leave it "
            "out\n"
            "quantization.weights.range: percentile has no effect with zeropoint, whose scales come from "
            "each tensor's "
            "own extremes: leave it out\n"
            "quantization.activations.range: minmax has no effect with zeropoint, whose scales come from "
            "each tensor's "
            "own extremes: leave it out");
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{weights: {}, zeropoint: {activation_axis: TOKEN}}"),
            "quantization.zeropoint.activation_axis: TOKEN has no effect, for activations stay float: leave "
            "it out, or "
            "give quantization.activations");
}

TEST(QuantizationChecksTest, TheGranularityDecidesWhatElseApplies) {
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{activations: {}, absmax: {activation_axis: FEATURE}}"), "OK");
  EXPECT_EQ(ErrorOfQuantization(
                kTinyOpt, "{activations: {}, absmax: {granularity: MODERATE, activation_axis: FEATURE}}"),
            "quantization.absmax.activation_axis: FEATURE has no effect, for MODERATE has one scale a "
            "tensor: leave it "
            "out, or use granularity: FINE");
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{weights: {}, absmax: {activation_axis: FEATURE}}"),
            "quantization.absmax.activation_axis: FEATURE has no effect, for activations stay float: leave "
            "it out, or "
            "give quantization.activations");
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{weights: {}, absmax: {granularity: COARSE}}"),
            "quantization.absmax.granularity: COARSE is MODERATE with quantized outputs, and outputs are "
            "activations, "
            "which stay float: use MODERATE, or give quantization.activations");
  EXPECT_EQ(
      ErrorOfQuantization(kTinyOpt, "{activations: {}, absmax: {calibrated: true}}"),
      "quantization.absmax.calibrated: true is not for FINE, whose scales follow each token or feature: use "
      "MODERATE or COARSE, or leave it out");
  EXPECT_EQ(
      ErrorOfQuantization(kTinyOpt, "{weights: {}, absmax: {granularity: MODERATE, calibrated: true}}"),
      "quantization.absmax.calibrated: true has no effect, for activations stay float: leave it out, or give "
      "quantization.activations");
}

TEST(QuantizationChecksTest, GroupsAreForTheLinearsWithAScaleARow) {
  for (const char* scheme : {"absmax: {}", "zeropoint: {}"}) {
    EXPECT_EQ(
        ErrorOfQuantization(kTinyOpt, std::string("{weights: {bits: 4, group_size: 64}, ") + scheme + "}"),
        "OK");
  }
  EXPECT_EQ(
      ErrorOfQuantization(kTinyOpt, "{weights: {group_size: 64}}"),
      "quantization.weights.group_size: is not for the scheme reference, which has one range a tensor or a "
      "channel: use quantization.absmax or quantization.zeropoint, or leave it out");
  EXPECT_EQ(
      ErrorOfQuantization(kTinyOpt, "{weights: {group_size: 64}, absmax: {granularity: MODERATE}}"),
      "quantization.weights.group_size: has no effect, for MODERATE has one scale a tensor: leave it out, or "
      "use granularity: FINE");
}

TEST(QuantizationChecksTest, SensitivityIsOfAQuantizedTrial) {
  const auto error_of = [](const std::string& quantization, const std::string& more = "") {
    v1::TrialSpec spec = TrialFrom(kTinyBert);
    spec.MergeFrom(TrialFrom("{evaluation: {sensitivity_batches: 2" + more + "}" + quantization + "}"));
    return std::string(ResolveAndValidate(spec).status().message());
  };
  EXPECT_EQ(error_of(", quantization: {weights: {}}"), "");
  EXPECT_EQ(error_of(""),
            "evaluation.sensitivity_batches: has no effect, for a trial in float has no quantizer to leave "
            "out: set "
            "it where quantization is set, or leave it out");
  EXPECT_EQ(error_of(", quantization: {weights: {}}", ", measure: NORMS"),
            "evaluation.sensitivity_batches: leaves out the quantizers one by one, which are listed with "
            "evaluation.measure: ALL alone: give that, or leave measure out");
}

TEST(QuantizationChecksTest, CalibrationIsForWhatIsCalibrated) {
  EXPECT_EQ(
      ErrorOfQuantization(kTinyOpt,
                          "{activations: {}, absmax: {granularity: COARSE, calibrated: true}, calibration: "
                          "{batches: 3}}"),
      "OK");
  EXPECT_EQ(ErrorOfQuantization(
                kTinyOpt, "{activations: {}, absmax: {granularity: COARSE}, calibration: {batches: 3}}"),
            "quantization.calibration: has no effect, for every batch gives its own scales: use "
            "quantization.absmax.calibrated, or leave it out");
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{weights: {}, zeropoint: {}, calibration: {batches: 3}}"),
            "quantization.calibration: has no effect, for zeropoint takes its ranges from each tensor: leave "
            "it out");
}

TEST(QuantizationChecksTest, TheHeadOfBertStaysFloat) {
  EXPECT_EQ(ErrorOfQuantization(kTinyOpt, "{weights: {}, absmax: {head: true}}"), "OK");
  EXPECT_EQ(
      ErrorOfQuantization(kTinyBert, "{weights: {}, absmax: {head: true}}"),
      "quantization.absmax.head: true is not for model.bert, whose head is never quantized: leave it out");
  EXPECT_EQ(
      ErrorOfQuantization(kTinyBert, "{weights: {}, zeropoint: {head: true}}"),
      "quantization.zeropoint.head: true is not for model.bert, whose head is never quantized: leave it out");
}

}  // namespace
}  // namespace inlier
