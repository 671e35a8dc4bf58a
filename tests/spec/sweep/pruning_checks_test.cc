#include "spec/sweep/pruning_checks.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
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

v1::PruningSpec Brackets(std::uint32_t brackets, std::uint32_t reduction) {
  v1::PruningSpec spec;
  spec.mutable_asha()->set_min_steps(1);
  spec.mutable_asha()->set_reduction(reduction);
  spec.mutable_asha()->set_brackets(brackets);
  return spec;
}

// R = 81 and eta = 3 with r = 1: the brackets of table 1, and what each of them spends.
TEST(PruningBracketsTest, TheirSizesAreThoseOfThePaper) {
  const v1::PruningSpec spec = Brackets(5, 3);
  const std::vector<std::uint64_t> sizes = PruningBracketSizes(spec);
  EXPECT_THAT(sizes, ElementsAre(81, 34, 15, 8, 5));
  EXPECT_THAT(PruningBracketSizes(Brackets(3, 2)), ElementsAre(4, 3, 3));
  EXPECT_THAT(PruningBracketSizes(Brackets(1, 3)), ElementsAre(1));
  EXPECT_THAT(PruningBracketSizes(v1::PruningSpec()), ElementsAre(1));
  // Algorithm 1: rung i of a bracket has floor(n eta^-i) trainings, of r eta^i steps. Each bracket spends about (s_max + 1) R.
  constexpr std::uint64_t kR = 81;
  std::vector<std::uint64_t> spent;
  for (std::uint32_t bracket = 1; bracket <= 5; ++bracket) {
    std::uint64_t steps = 1;
    while (!PruningRungAt(spec, bracket, steps)) ++steps;
    std::uint64_t& sum = spent.emplace_back(0);
    for (std::uint64_t trainings = sizes[bracket - 1]; steps <= kR; trainings /= 3, steps *= 3)
      sum += trainings * steps;
  }
  EXPECT_THAT(spent, ElementsAre(5 * kR, 363, 351, 378, 5 * kR));
}

TEST(PruningBracketsTest, EachRoundGivesEveryBracketItsShareInAnotherOrder) {
  const v1::PruningSpec spec = Brackets(4, 3);
  const std::vector<std::uint64_t> sizes = PruningBracketSizes(spec);
  std::vector<std::uint32_t> first, second;
  for (std::uint64_t number = 0; number < 2 * (27 + 12 + 6 + 4); ++number)
    (number < 49 ? first : second).push_back(PruningBracketOf(spec, number));
  for (const auto& round : {first, second}) {
    for (std::uint32_t bracket = 1; bracket <= 4; ++bracket)
      EXPECT_EQ(std::ranges::count(round, bracket), static_cast<std::int64_t>(sizes[bracket - 1]));
  }
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::ranges::is_sorted(first));
  EXPECT_EQ(PruningBracketOf(Brackets(1, 3), 12345), 1u);
}

TEST(PruningChecksTest, BracketsThatCompareNothingAreRefused) {
  const std::string asha = "{measurement: loss, asha: {min_steps: 100, reduction: 2, brackets: ";
  EXPECT_EQ(ErrorOfPruning(asha + "4}}"), "OK");  // At 100, 200, 400, and the last not at all.
  EXPECT_THAT(
      ErrorOfPruning(asha + "5}}"),
      HasSubstr("pruning.asha.brackets: 5 are too many: number 4 compares at step 800 first, and trainings "
                "have 500 steps and report loss for the last time before their end at step 400; give fewer"));
  EXPECT_THAT(ErrorOfPruning("{measurement: loss, asha: {min_steps: 500, brackets: 3}}"),
              HasSubstr("pruning.asha.min_steps: 500 is never reached"));
  EXPECT_THAT(
      ErrorOfPruning("{measurement: loss, asha: {min_steps: 1, reduction: 2, brackets: 10}}", "epochs: 3"),
      HasSubstr(
          "pruning.asha.brackets: 10 have nothing to compare, for the sweep has 10 trials; give fewer"));
  EXPECT_THAT(
      ErrorOfPruning("{measurement: loss, asha: {min_steps: 1, reduction: 1000, brackets: 3}}", "epochs: 3"),
      HasSubstr("pruning.asha.brackets: 3 with reduction 1000 share out more than 1000000 points at once"));
  EXPECT_THAT(ErrorOfPruning(asha + "0}}"), HasSubstr("0 is out of range: give a whole number from 1 to 20"));
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
