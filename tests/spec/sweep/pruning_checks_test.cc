#include "spec/sweep/pruning_checks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

// A sweep of ten trainings of 500 steps.
std::string ErrorOfPruning(const std::string& pruning, const std::string& training = "steps: 500") {
  const auto sweep = ReadSweepText(
      "name: s\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {" + training +
          "}}\naxes: [{field: seed, values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}]\npruning: " + pruning + "\n",
      "s.yaml");
  return sweep.ok() ? "OK" : std::string(sweep.status().message());
}

TEST(PruningChecksTest, UsefulPruningIsTaken) {
  EXPECT_EQ(ErrorOfPruning("{measurement: train_loss, median: {warmup_steps: 100}}"), "OK");
  EXPECT_EQ(ErrorOfPruning("{measurement: loss, median: {}}"), "OK");
  EXPECT_EQ(ErrorOfPruning("{measurement: loss, goal: MINIMIZE, asha: {min_steps: 50, reduction: 4}}"), "OK");
  EXPECT_EQ(ErrorOfPruning("{measurement: train_loss, asha: {min_steps: 100000}}", "epochs: 3"), "OK");
}

TEST(PruningChecksTest, WhatIsNoCurveIsRefused) {
  EXPECT_THAT(
      ErrorOfPruning("{measurement: perplexity, asha: {min_steps: 50}}"),
      HasSubstr("s.yaml:4:11: pruning.measurement: \"perplexity\" is reported at the end only, not while "
                "training; give a curve such as train_loss or loss"));
  EXPECT_THAT(ErrorOfPruning("{measurement: trainloss, asha: {min_steps: 50}}"),
              HasSubstr("\"trainloss\" is not a measurement; did you mean \"train_loss\""));
  EXPECT_THAT(ErrorOfPruning("{asha: {min_steps: 50}}"), HasSubstr("pruning.measurement: is missing"));
  EXPECT_THAT(ErrorOfPruning("{measurement: loss}"),
              HasSubstr("pruning: nothing is chosen: give one of median or asha"));
  EXPECT_THAT(ErrorOfPruning("{measurement: loss, asha: {}}"),
              HasSubstr("pruning.asha.min_steps: is missing"));
  EXPECT_THAT(ErrorOfPruning("{measurement: loss, asha: {min_steps: 5, reduction: 1}}"),
              HasSubstr("1 is out of range: give a whole number from 2 to 1000"));
}

TEST(PruningChecksTest, WhatCanNeverFireIsRefused) {
  EXPECT_THAT(
      ErrorOfPruning("{measurement: loss, asha: {min_steps: 50}}", "steps: 500, measure_outliers_every: 0"),
      HasSubstr("loss is never taken while training, for training.measure_outliers_every is 0"));
  EXPECT_THAT(
      ErrorOfPruning("{measurement: train_loss, asha: {min_steps: 500}}"),
      HasSubstr(
          "s.yaml:4:43: pruning.asha.min_steps: 500 is never reached: trainings have 500 steps and report "
          "train_loss for the last time before their end at step 490"));
  EXPECT_THAT(ErrorOfPruning("{measurement: loss, median: {warmup_steps: 450}}"),
              HasSubstr("pruning.median.warmup_steps: 450 is never reached"));
  EXPECT_THAT(ErrorOfPruning("{measurement: loss, median: {}}", "steps: 100"),
              HasSubstr("pruning.median.interval: 100 is never reached"));
  EXPECT_THAT(
      ErrorOfPruning("{measurement: train_loss, median: {min_trials: 10}}"),
      HasSubstr(
          "pruning.median.min_trials: 10 other trials to compare with are never there, for the sweep has "
          "10; lower it"));
}

TEST(PruningChecksTest, QuantizedCurvesHaveTheirOwnPeriod) {
  EXPECT_THAT(
      ErrorOfPruning("{measurement: quantization_gap, asha: {min_steps: 50}}"),
      HasSubstr("quantization_gap is never taken while training, for training.measure_quantized_every is "
                "0; give it in base, such as 100"));
  const std::string every200 = "steps: 500, measure_quantized_every: 200";
  EXPECT_EQ(ErrorOfPruning("{measurement: quantized_loss, asha: {min_steps: 400}}", every200), "OK");
  EXPECT_THAT(
      ErrorOfPruning("{measurement: quantized_loss, asha: {min_steps: 401}}", every200),
      HasSubstr("401 is never reached: trainings have 500 steps and report quantized_loss for the last "
                "time before their end at step 400; lower it, or training.measure_quantized_every"));
}

TEST(PruningChecksTest, AScaleMayHaveItsOwn) {
  const auto read = [](const std::string& small) {
    return ReadSweepText(
        "name: s\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: "
        "500}}\naxes: [{field: seed, values: [1, 2]}]\npruning: {measurement: train_loss, asha: "
        "{min_steps: 100}}\nscales:\n  small: {base: {training: {steps: 50}}" +
            small + "}\n",
        "s.yaml", {}, "small");
  };
  EXPECT_THAT(std::string(read("").status().message()),
              HasSubstr("s.yaml:4:43: pruning.asha.min_steps: 100 is never reached"));
  const auto own = read(", pruning: {measurement: train_loss, asha: {min_steps: 10}}").value();
  EXPECT_EQ(own.pruning().asha().min_steps(), 10u);
  EXPECT_THAT(
      std::string(read(", pruning: {measurement: train_loss, asha: {min_steps: 60}}").status().message()),
      HasSubstr("s.yaml:6:"));
}

}  // namespace
}  // namespace inlier
