// Axes of numbers beyond plain ranges: steps, normal distributions and weights, in grids and in the file.
#include <cmath>
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "grid_points.h"
#include "gtest/gtest.h"
#include "spec/schema/number_text.h"
#include "spec/sweep/sweep_edit.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<v1::SweepSpec> ReadNumbers(const std::string& rest, const std::string& scale = "") {
  return ReadSweepText("name: s\nbase: " + std::string(kTinyBert) + "\n" + rest + "\n", "s.yaml", {}, scale);
}

SweepGrid NumbersGrid(const std::string& rest, const std::string& scale = "") {
  const auto sweep = ReadNumbers(rest, scale);
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return SweepGrid::Create(*sweep).value();
}

std::string NumbersError(const std::string& rest) { return MessageOf(ReadNumbers(rest).status()); }

constexpr char kRandom8[] = "sampling: {random: {trials: 8}}\n";

// Pinned: the samples of a sweep must never change, because they identify its trials.
TEST(AxisNumbersTest, SamplesAreTheSameForEver) {
  EXPECT_THAT(AllPoints(NumbersGrid(
                  "sampling: {sobol: {trials: 4, seed: 5}}\n"
                  "axes:\n"
                  "  - {field: training.optimizer.adamw.learning_rate, normal: {mean: -7, std: 1.5, log: "
                  "true, max: 1}}\n"
                  "  - {field: training.batch_size, normal: {mean: 32, std: 8, min: 1, max: 64}}\n"
                  "  - {field: dropout, range: {min: 0, max: 0.3, step: 0.1}}\n"
                  "  - {field: training.precision, values: [FLOAT32, BFLOAT16], weights: [3, 1]}\n")),
              ElementsAre("learning_rate=0.0003718 batch_size=24 dropout=0.2 precision=BFLOAT16",
                          "learning_rate=0.004287 batch_size=46 dropout=0.1 precision=FLOAT32",
                          "learning_rate=0.0001573 batch_size=36 dropout=0 precision=FLOAT32",
                          "learning_rate=0.001548 batch_size=30 dropout=0.3 precision=FLOAT32"));
}

TEST(AxisNumbersTest, WithoutSamplingARangeWithStepIsAList) {
  const SweepGrid grid = NumbersGrid(
      "axes: [{field: dropout, range: {min: 0, max: 0.35, step: 0.1}}, {field: seed, range: {min: 1, max: 3, "
      "step: 1}}]");
  EXPECT_EQ(grid.kept(), 12u);
  EXPECT_THAT(grid.axes()[0].labels, ElementsAre("0", "0.1", "0.2", "0.3"));
  EXPECT_EQ(grid.axes()[0].range, "");
  EXPECT_EQ(LabelsOf(*grid.At(10)), "dropout=0.3 seed=2");
  EXPECT_EQ(grid.At(10)->spec.dropout(), 0.3);
  EXPECT_EQ(grid.At(10)->spec.seed(), 2u);
  // Its labels can be named, in conditions and exclusions.
  const SweepGrid ruled = NumbersGrid(
      "axes: [{field: dropout, range: {min: 0, max: 0.3, step: 0.1}}, {field: seed, values: [1, 2], when: "
      "{dropout: 0.30}}]\n"
      "exclude: [{dropout: [0.1]}]");
  EXPECT_THAT(AllPoints(ruled), ElementsAre("dropout=0 seed=", "dropout=0.2 seed=", "dropout=0.3 seed=1",
                                            "dropout=0.3 seed=2"));
}

TEST(AxisNumbersTest, StepsAreTheDecimalsThatTheyLookLike) {
  const auto labels = [](const std::string& range) {
    return NumbersGrid("axes: [{field: attention.softmax.clipped.gamma, range: " + range + "}]")
        .axes()[0]
        .labels;
  };
  EXPECT_THAT(labels("{min: -0.3, max: 0, step: 0.1}"), ElementsAre("-0.3", "-0.2", "-0.1", "0"));
  EXPECT_THAT(labels("{min: -1e-5, max: -1e-6, step: 3e-6}"),
              ElementsAre("-1e-5", "-7e-6", "-4e-6", "-1e-6"));
  EXPECT_THAT(labels("{min: -0.333, max: -0.1, step: 0.111}"), ElementsAre("-0.333", "-0.222", "-0.111"));
}

TEST(AxisNumbersTest, WithSamplingStepsAreDrawnAlike) {
  const SweepGrid grid = NumbersGrid(
      "sampling: {sobol: {trials: 1024}}\n"
      "axes: [{field: model.bert.hidden_size, range: {min: 32, max: 100, step: 32}}, {field: seed, range: "
      "{min: 1, max: 100000}}]");
  EXPECT_EQ(grid.axes()[0].range, "32 to 100, whole, step 32");
  std::map<std::string, int> counts;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1))
    ++counts[grid.At(*index)->labels[0].second];
  ASSERT_EQ(counts.size(), 3u);
  for (const char* label : {"32", "64", "96"}) EXPECT_NEAR(counts[label], 1024 / 3.0, 1) << label;
  // With each: true it is a list again.
  EXPECT_EQ(NumbersGrid("sampling: {random: {trials: 4}}\naxes: [{field: dropout, range: {min: 0, max: "
                        "0.9}}, {field: seed, "
                        "range: {min: 1, max: 3, step: 1}, each: true}]")
                .kept(),
            12u);
}

TEST(AxisNumbersTest, AListOfStepsCanBeEditedAndScaled) {
  const auto spec = [](const std::string& max) {
    return ReadNumbers("axes: [{field: seed, range: {min: 1, max: " + max + ", step: 1}}]").value();
  };
  const v1::SweepSpec from = spec("3"), to = spec("5");
  const auto edit = SweepEdit::Create(from, *SweepGrid::Create(from), to, *SweepGrid::Create(to));
  ASSERT_TRUE(edit.ok()) << edit.status();
  EXPECT_TRUE(edit->only_appends());
  EXPECT_EQ(edit->NewIndex(2), 2u);
  const std::string scaled =
      "axes: [{field: seed, range: {min: 1, max: 5, step: 1}}, {field: dropout, values: [0, 0.1]}]\n"
      "exclude: [{seed: 5, dropout: 0}, {seed: 2}]\n"
      "scales:\n"
      "  small: {axes: [{field: seed, range: {min: 1, max: 3, step: 1}}]}\n";
  EXPECT_EQ(NumbersGrid(scaled).kept(), 7u);
  // Of the exclusions those stay whose labels are there.
  EXPECT_EQ(NumbersGrid(scaled, "small").kept(), 4u);
}

TEST(AxisNumbersTest, NormalNumbersAreDrawnByTheirQuantiles) {
  const SweepGrid grid = NumbersGrid(
      "sampling: {sobol: {trials: 64}}\n"
      "axes: [{field: training.optimizer.adamw.learning_rate, normal: {mean: -7, std: 1, log: true, max: 1, "
      "digits: 12}}]");
  EXPECT_EQ(grid.kept(), 64u);
  EXPECT_EQ(grid.axes()[0].range, "normal, mean -7, std 1, log, at most 1");
  std::set<int> intervals;
  for (std::uint64_t index = 0; index < 64; ++index) {
    const GridPoint point = grid.At(index).value();
    const double rate = point.spec.training().optimizer().adamw().learning_rate();
    EXPECT_EQ(FormatNumber(rate), point.labels[0].second);
    intervals.insert(static_cast<int>(64 * std::erfc(-(std::log(rate) + 7) / std::sqrt(2.0)) / 2));
  }
  EXPECT_EQ(intervals.size(), 64u);
}

TEST(AxisNumbersTest, ASweepWithoutADistributionTakesItAtAScale) {
  const std::string text =
      "sampling: {random: {trials: 16}}\n"
      "axes: [{field: seed, range: {min: 1, max: 9}}, {field: dropout, values: [0, 0.1]}]\n"
      "scales: {bell: {axes: [{field: seed, normal: {mean: 5, std: 1, min: 1, max: 9}}]}}";
  EXPECT_EQ(NumbersGrid(text, "bell").axes()[0].range, "normal, mean 5, std 1, whole, at least 1, at most 9");
}

// Of 100,000 draws each value has its share, by the chi-squared distance.
TEST(AxisNumbersTest, WeightsAreShares) {
  v1::SamplingSpec sampling;
  sampling.mutable_random()->set_trials(100'000);
  sampling.mutable_random()->set_seed(7);
  const SamplePlan plan(sampling);
  v1::Axis axis;
  for (const double weight : {1.0, 0.0, 2.5, 6.5, 0.0}) axis.add_weights(weight);
  const SampleWeights weights(axis.weights());
  std::vector<double> counts(5);
  for (std::uint32_t sample = 0; sample < 100'000; ++sample) ++counts.at(weights.At(plan.Draw(sample, 3), 5));
  EXPECT_EQ(counts[1], 0);
  EXPECT_EQ(counts[4], 0);
  double chi_squared = 0;
  for (const auto& [i, expected] : {std::pair(0, 10'000.0), std::pair(2, 25'000.0), std::pair(3, 65'000.0)})
    chi_squared += (counts[static_cast<std::size_t>(i)] - expected) *
                   (counts[static_cast<std::size_t>(i)] - expected) / expected;
  EXPECT_LT(chi_squared, 9.21);  // 1 % of draws with these shares are above it, with two degrees of freedom.
  EXPECT_GT(chi_squared, 0.02);  // And 1 % below.
  // The last draw of all is of the last value with a weight.
  EXPECT_EQ(weights.At({(1ull << 53) - 1}, 5), 3u);
  EXPECT_EQ(weights.At({0}, 5), 0u);
}

TEST(AxisNumbersTest, WeightsOfValuesVariantsAndZipHoldInASweep) {
  const SweepGrid grid = NumbersGrid(
      "sampling: {sobol: {trials: 1024}}\n"
      "axes:\n"
      "  - {field: training.precision, values: [FLOAT32, BFLOAT16], weights: [3, 1]}\n"
      "  - {name: gate, variants: [{label: none, set: {}}, {label: linear, set: {attention.gate.linear: "
      "{}}}], weights: [1, 7]}\n"
      "  - {zip: [training.batch_size, training.gradient_accumulation], values: [[8, 4], [16, 2], [32, 1]], "
      "weights: [1, 1, 2]}\n"
      "  - {field: seed, range: {min: 1, max: 1000000}}\n");
  std::vector<std::map<std::string, int>> counts(3);
  for (std::uint64_t index = 0; index < 1024; ++index) {
    const GridPoint point = grid.At(index).value();
    for (std::size_t axis = 0; axis < 3; ++axis) ++counts[axis][point.labels[axis].second];
  }
  EXPECT_THAT(counts[0], ElementsAre(std::pair("BFLOAT16", 256), std::pair("FLOAT32", 768)));
  EXPECT_THAT(counts[1], ElementsAre(std::pair("linear", 896), std::pair("none", 128)));
  EXPECT_THAT(counts[2], ElementsAre(std::pair("16+2", 256), std::pair("32+1", 512), std::pair("8+4", 256)));
}

TEST(AxisNumbersTest, MistakesOfStepsAreTold) {
  const auto error = [](const std::string& range, const char* field = "dropout") {
    return NumbersError("axes: [{field: " + std::string(field) + ", range: " + range + "}]");
  };
  EXPECT_THAT(error("{min: 0, max: 1}"),
              HasSubstr("s.yaml:3:25: axes[0].range: has no end of values to run them all; add "
                        "sampling to the sweep, such as {sobol: {trials: 64}}, or give step or values"));
  EXPECT_THAT(error("{min: 1e-3, max: 1e-1, log: true, step: 1e-3}"),
              HasSubstr("axes[0].range: log has no equal steps; leave out step or log, or give values"));
  EXPECT_THAT(error("{min: 0, max: 1, step: 0.1, digits: 3}"),
              HasSubstr("digits is for ranges without step; leave it out"));
  EXPECT_THAT(error("{min: 1, max: 9, step: 0.5}", "seed"),
              HasSubstr("steps of whole numbers must be whole"));
  EXPECT_THAT(error("{min: 0, max: 0.5, step: 0.6}"),
              HasSubstr("step 0.6 leads from min past max; lower it"));
  EXPECT_THAT(error("{min: 0, max: 1, step: 1e-6}"),
              HasSubstr("step 1e-6 makes more than 100000 values; raise it"));
  EXPECT_THAT(error("{min: 0, max: 1, step: 0}"), HasSubstr("axes[0].range.step: 0 is out of range"));
  EXPECT_THAT(error("{min: 0, max: 1, step: -0.1}"), HasSubstr("axes[0].range.step: -0.1 is out of range"));
  EXPECT_THAT(error("{min: 0, max: 2, step: 0.5}"),
              HasSubstr("s.yaml:3:41: axes[0].range.max: 1 is out of range"));
}

TEST(AxisNumbersTest, MistakesOfNormalDistributionsAreTold) {
  const auto error = [](const std::string& rest) {
    return NumbersError(kRandom8 + ("axes: [{" + rest + "}]"));
  };
  EXPECT_THAT(NumbersError("axes: [{field: dropout, normal: {mean: 0.1, std: 0.01}}]"),
              HasSubstr("s.yaml:3:25: axes[0].normal: has no end of values to run them all; add sampling"));
  EXPECT_THAT(
      error("field: dropout, normal: {mean: 0.1, std: 0.1}"),
      HasSubstr(
          "s.yaml:4:25: axes[0].normal: -0.7292 is out of range: give a number at least 0 and below 1, and "
          "draws would be; give min and max, within which all is drawn"));
  EXPECT_THAT(error("field: dropout, normal: {mean: 0.5, std: 1, min: -0.5, max: 0.9}"),
              HasSubstr("s.yaml:4:53: axes[0].normal.min: -0.5 is out of range"));
  EXPECT_THAT(error("field: training.batch_size, normal: {mean: 32, std: 16}"),
              HasSubstr("is out of range: give a whole number"));
  EXPECT_THAT(error("field: dropout, normal: {mean: 0.1}"), HasSubstr("axes[0].normal.std: is missing"));
  EXPECT_THAT(error("field: dropout, normal: {mean: 0.1, std: 0}"),
              HasSubstr("axes[0].normal.std: 0 is out of range"));
  EXPECT_THAT(error("field: training.precision, normal: {mean: 0, std: 1}"),
              HasSubstr("training.precision is not a number; give values"));
  EXPECT_THAT(error("name: x, normal: {mean: 0, std: 1}"),
              HasSubstr("a normal is of one field; give field with normal"));
  EXPECT_THAT(error("field: seed, normal: {mean: 0, std: 1}, values: [1]"),
              HasSubstr("has values and a normal; keep one of them"));
  EXPECT_THAT(error("field: seed, normal: {mean: 0, std: 1}, range: {min: 1, max: 2}"),
              HasSubstr("has a range and a normal distribution; keep one of them"));
  EXPECT_THAT(error("field: seed, normal: {mean: 5, std: 1, min: 1, max: 9}, each: true"),
              HasSubstr("axes[0].each: a normal cannot be run with each of its values"));
  EXPECT_THAT(error("field: dropout, normal: {mean: 0.1, std: 0.1, min: 0, max: 0.5}, weights: [1]"),
              HasSubstr("axes[0].weights: are of values or variants; leave them out, or give values"));
  EXPECT_THAT(NumbersError("sampling: {sobol: {trials: 8, scramble: false}}\naxes: [{field: "
                           "training.gradient_clip_norm, normal: "
                           "{mean: 0, std: 1, log: true}}]"),
              HasSubstr("axes[0].normal: has no lower end, which is the first sample of Sobol's sequence "
                        "without scrambling"));
  EXPECT_THAT(error("field: training.optimizer.adamw.learning_rate, normal: {mean: 1e-3, std: 1, log: true}"),
              HasSubstr("is out of range"));
  EXPECT_THAT(
      NumbersError(std::string(kRandom8) +
                   "axes: [{field: seed, normal: {mean: 5, std: 1, min: 1, max: 9}}]\nexclude: [{seed: 3}]"),
      HasSubstr("the numbers of axis seed are drawn and cannot be named; narrow them by min and max, or give "
                "values"));
}

TEST(AxisNumbersTest, MistakesOfWeightsAreTold) {
  const auto error = [](const std::string& rest) {
    return NumbersError(
        kRandom8 + ("axes: [{field: seed, values: [1, 2, 3], " + rest + "}, {field: dropout, values: [0]}]"));
  };
  EXPECT_THAT(NumbersError("axes: [{field: seed, values: [1, 2], weights: [1, 2]}]"),
              HasSubstr("s.yaml:3:38: axes[0].weights: have an effect only with sampling; leave them out, or "
                        "add sampling"));
  EXPECT_THAT(error("weights: [1, 2]"),
              HasSubstr("axes[0].weights: has 2 weights for 3 values; give one for each value"));
  EXPECT_THAT(error("weights: [1, -2, 3]"),
              HasSubstr("s.yaml:4:54: axes[0].weights[1]: -2 is below 0; give 0 or more"));
  EXPECT_THAT(error("weights: [0, 0, 0]"),
              HasSubstr("axes[0].weights: are all 0, and nothing could be drawn; give one above 0"));
  EXPECT_THAT(error("weights: [1e308, 1e308, 1e308]"),
              HasSubstr("axes[0].weights: have no finite sum; give smaller ones"));
  EXPECT_THAT(
      error("weights: [1, 2, 3], each: true"),
      HasSubstr("axes[0].weights: have no effect on an axis that is not drawn; leave out weights or each"));
  EXPECT_THAT(error("weights: [1, x, 3]"),
              HasSubstr("s.yaml:4:54: axes[0].weights[1]: \"x\" is not a number"));
  EXPECT_THAT(error("weights: [1, '2', 3]"),
              HasSubstr("axes[0].weights[1]: \"2\" is not a number; write it without quotes"));
  EXPECT_THAT(error("weights: [1, [2], 3]"), HasSubstr("axes[0].weights[1]: \"\" is not a number"));
  EXPECT_THAT(error("weights: 1"), HasSubstr("axes[0].weights: is not a list; write a list"));
}

}  // namespace
}  // namespace inlier
