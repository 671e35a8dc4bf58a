// Sweeps with sampling: SweepGrid and the reader.
#include <map>
#include <set>

#include "gmock/gmock.h"
#include "grid_points.h"
#include "gtest/gtest.h"
#include "spec/schema/number_text.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/canonical.h"
#include "spec/trial/resolver.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLearningRate[] =
    "{field: training.optimizer.adamw.learning_rate, range: {min: 1e-5, max: 1e-2, log: true}}";

v1::SweepSpec SampledSweepFrom(const std::string& rest) {
  const auto sweep = ReadSweepText("{name: s, base: " + std::string(kTinyBert) + ", " + rest + "}", "s.yaml");
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return sweep.ok() ? *sweep : v1::SweepSpec();
}

SweepGrid SampledGridFrom(const std::string& rest) {
  return SweepGrid::Create(SampledSweepFrom(rest)).value();
}

std::string ErrorOfSample(const std::string& rest) {
  const auto sweep = ReadSweepText("name: s\nbase: " + std::string(kTinyBert) + "\n" + rest + "\n", "s.yaml");
  return sweep.ok() ? "OK" : std::string(sweep.status().message());
}

// Pinned: the samples of a sweep must never change, because they identify its trials.
TEST(SampledGridTest, SamplesAreTheSameForEver) {
  const std::string axes =
      "axes: [" + std::string(kLearningRate) + ", {field: training.batch_size, range: {min: 1, max: 64}}]";
  EXPECT_THAT(AllPoints(SampledGridFrom("sampling: {random: {trials: 3, seed: 1}}, " + axes)),
              ElementsAre("learning_rate=0.004686 batch_size=2", "learning_rate=0.001038 batch_size=15",
                          "learning_rate=5.523e-5 batch_size=32"));
  EXPECT_THAT(AllPoints(SampledGridFrom("sampling: {sobol: {trials: 4, scramble: false}}, " + axes)),
              ElementsAre("learning_rate=1e-5 batch_size=1", "learning_rate=0.0003162 batch_size=33",
                          "learning_rate=5.623e-5 batch_size=49", "learning_rate=0.001778 batch_size=17"));
  EXPECT_THAT(AllPoints(SampledGridFrom("sampling: {sobol: {trials: 3, seed: 5}}, " + axes)),
              ElementsAre("learning_rate=6.679e-5 batch_size=11", "learning_rate=0.003523 batch_size=62",
                          "learning_rate=2.302e-5 batch_size=45"));
}

TEST(SampledGridTest, LabelsAreWhatTheTrialsAreMadeWith) {
  const SweepGrid grid =
      SampledGridFrom("sampling: {sobol: {trials: 64}}, axes: [" + std::string(kLearningRate) + "]");
  EXPECT_EQ(grid.size(), 64u);
  EXPECT_EQ(grid.kept(), 64u);
  EXPECT_EQ(grid.sampling(), "64 samples, Sobol, scrambled, seed 1");
  EXPECT_EQ(grid.axes()[0].range, "1e-5 to 0.01, log");
  std::set<std::string> fingerprints;
  for (std::uint64_t index = 0; index < 64; ++index) {
    const auto point = grid.At(index).value();
    EXPECT_EQ(FormatNumber(point.spec.training().optimizer().adamw().learning_rate()),
              point.labels[0].second);
    const auto resolved = Resolve(point.spec).value();
    fingerprints.insert(TrainFingerprint(resolved));
  }
  EXPECT_EQ(fingerprints.size(), 64u);
}

TEST(SampledGridTest, EverySampleRunsWithEachSeed) {
  const SweepGrid grid = SampledGridFrom(
      "sampling: {random: {trials: 5}}, axes: [{field: seed, values: [1, 2, 3], each: true}, " +
      std::string(kLearningRate) + "]");
  EXPECT_EQ(grid.kept(), 15u);
  std::map<std::string, std::vector<std::string>> seeds;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const auto point = grid.At(*index);
    seeds[point->labels[1].second].push_back(point->labels[0].second);
  }
  ASSERT_EQ(seeds.size(), 5u);
  for (const auto& [rate, with] : seeds) EXPECT_THAT(with, ElementsAre("1", "2", "3")) << rate;
}

TEST(SampledGridTest, AxesWithValuesAreDrawnUniformlyOverThem) {
  const SweepGrid grid = SampledGridFrom(
      "sampling: {sobol: {trials: 256}}, axes: [" + std::string(kLearningRate) +
      ", {name: method, variants: [{label: plain, set: {}}, {label: gated, set: {attention.gate.linear: "
      "{}}}]}, "
      "{zip: [training.batch_size, training.steps], values: [[8, 100], [16, 50], [32, 25], [64, 12]]}]");
  EXPECT_EQ(grid.kept(), 256u);
  std::map<std::string, int> methods, sizes;
  for (std::uint64_t index = 0; index < 256; ++index) {
    const auto point = grid.At(index);
    ++methods[point->labels[1].second];
    ++sizes[point->labels[2].second];
    EXPECT_EQ(point->spec.attention().gate().has_linear(), point->labels[1].second == "gated");
  }
  EXPECT_THAT(methods, ElementsAre(std::pair("gated", 128), std::pair("plain", 128)));
  EXPECT_EQ(sizes.size(), 4u);
  for (const auto& [size, count] : sizes) EXPECT_EQ(count, 64) << size;
}

TEST(SampledGridTest, ConditionsAndExclusionsHold) {
  const SweepGrid grid = SampledGridFrom(
      "sampling: {random: {trials: 40}}, axes: [{name: method, variants: [{label: vanilla, set: {}}, {label: "
      "clipped, "
      "set: {attention.softmax.clipped: {}}}]}, {field: attention.softmax.clipped.gamma, range: {min: -0.5, "
      "max: "
      "-0.01}, when: {method: clipped}}, {field: seed, values: [1, 2], each: true}], exclude: [{method: "
      "vanilla, seed: 2}]");
  int vanilla = 0;
  std::set<std::string> clipped;
  for (const std::string& point : AllPoints(grid)) {
    if (point.rfind("method=vanilla", 0) == 0) {
      // No draw distinguishes two of these: it is there once.
      ++vanilla;
      EXPECT_EQ(point, "method=vanilla gamma= seed=1");
    } else {
      EXPECT_THAT(point, HasSubstr("method=clipped gamma=-0."));
      EXPECT_TRUE(clipped.insert(point).second) << point;
    }
  }
  EXPECT_EQ(vanilla, 1);
  EXPECT_GT(clipped.size(), 20u);
  EXPECT_EQ(grid.kept(), clipped.size() + 1);
}

TEST(SampledGridTest, APointIsThereOnce) {
  const SweepGrid grid = SampledGridFrom(
      "sampling: {random: {trials: 1000}}, axes: [{field: training.batch_size, range: {min: 1, max: 16}}]");
  EXPECT_EQ(grid.size(), 1000u);
  EXPECT_EQ(grid.kept(), 16u);
  const std::vector<std::string> points = AllPoints(grid);
  EXPECT_EQ(std::set<std::string>(points.begin(), points.end()).size(), 16u);
  EXPECT_EQ(points.size(), 16u);
  std::uint64_t skipped = 0;
  while (grid.At(skipped).ok()) ++skipped;
  EXPECT_EQ(grid.At(skipped).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(grid.At(skipped).status().message()), HasSubstr("repeats an earlier sample"));
}

TEST(SampledGridTest, MistakesAreToldWithPlaceAndRemedy) {
  const std::string random = "sampling: {random: {trials: 8}}\n";
  EXPECT_THAT(ErrorOfSample("axes: [{field: training.batch_size, range: {min: 1, max: 4}}]"),
              HasSubstr("s.yaml:3:37: axes[0].range: has no end of values to run them all; add sampling"));
  EXPECT_THAT(ErrorOfSample("axes: [{field: seed, values: [1], each: true}]"),
              HasSubstr("axes[0].each: has an effect only with sampling"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{field: seed, values: [1], each: true}]"),
              HasSubstr("s.yaml:3:1: sampling: there is nothing to draw"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{field: training.batch_size, range: {min: 4, max: 1}}]"),
              HasSubstr("s.yaml:4:37: axes[0].range: min 4 is not below max 1"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{field: training.batch_size, range: {min: 0, max: 4}}]"),
              HasSubstr("s.yaml:4:45: axes[0].range.min: 0 is out of range"));
  EXPECT_THAT(
      ErrorOfSample(random +
                    "axes: [{field: training.gradient_clip_norm, range: {min: 0, max: 1, log: true}}]"),
      HasSubstr("axes[0].range: log needs min above 0"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{field: training.precision, range: {min: 0, max: 1}}]"),
              HasSubstr("training.precision is not a number; give values"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{name: x, range: {min: 0, max: 1}}]"),
              HasSubstr("give field with range"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{field: seed, range: {min: 0, max: 1}, values: [1]}]"),
              HasSubstr("has values and a range; keep one of them"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{field: seed, range: {min: 0, max: 9}, each: true}]"),
              HasSubstr("axes[0].each: a range cannot be run with each of its values"));
  EXPECT_THAT(
      ErrorOfSample(
          random + "axes: [{field: seed, range: {min: 1, max: 2}}, {field: seed, name: other, values: [1]}]"),
      HasSubstr("sets seed as axis seed does"));
  EXPECT_THAT(ErrorOfSample(random + "axes: [{field: seed, range: {min: 1, max: 9}}]\nexclude: [{seed: 3}]"),
              HasSubstr("the numbers of axis seed are drawn and cannot be named"));
  EXPECT_THAT(ErrorOfSample("sampling: {random: {}}\naxes: [{field: seed, range: {min: 1, max: 9}}]"),
              HasSubstr("s.yaml:3:12: sampling.random.trials: is missing"));
  EXPECT_THAT(
      ErrorOfSample("sampling: {random: {trials: 60000}}\naxes: [{field: training.batch_size, range: {min: "
                    "1, max: 9}}, "
                    "{field: seed, values: [1, 2], each: true}]"),
      HasSubstr("sampling.random.trials: 60000 samples with 2 points each are more than 100000"));
  EXPECT_THAT(ErrorOfSample("sampling: {}\naxes: [{field: seed, range: {min: 1, max: 9}}]"),
              HasSubstr("sampling: nothing is chosen: give one of random, sobol or optuna"));
}

TEST(SampledGridTest, AScaleMayDrawFewer) {
  const std::string text =
      "name: s\nbase: " + std::string(kTinyBert) +
      "\nsampling: {sobol: {trials: 64}}\naxes: [{field: training.batch_size, range: {min: 1, max: 1000}}]\n"
      "scales:\n  small: {sampling: {sobol: {trials: 4}}}\n"
      "  wrong: {sampling: {sobol: {trials: 100000}}, axes: [{field: seed, values: [1, 2], each: true}]}";
  const auto small = ReadSweepText(text, "s.yaml", {}, "small").value();
  EXPECT_EQ(SweepGrid::Create(small)->kept(), 4u);
  EXPECT_THAT(
      std::string(ReadSweepText(text, "s.yaml", {}, "wrong").status().message()),
      HasSubstr("s.yaml:7:30: scales.wrong.sampling.sobol.trials: 100000 samples with 2 points each"));
}

// Random search is for spaces whose points no one can count.
TEST(SampledGridTest, RulesOfASpaceOfAnySizeAreFollowed) {
  std::string axes = "axes: [{field: seed, values: [1, 2]}", digits;
  for (int i = 1; i <= 1000; ++i) digits += (i > 1 ? ", " : "") + std::to_string(i);
  for (const char* field : {"training.steps", "training.batch_size", "training.gradient_accumulation"})
    axes += ", {field: " + std::string(field) + ", values: [" + digits + "], when: {seed: 2}}";
  const SweepGrid grid =
      SampledGridFrom("sampling: {random: {trials: 200}}, " + axes + "], exclude: [{seed: 1}]");
  EXPECT_GT(grid.kept(), 50u);
  EXPECT_LT(grid.kept(), 150u);
  for (const std::string& point : AllPoints(grid)) EXPECT_THAT(point, HasSubstr("seed=2 steps="));
}

TEST(SampledGridTest, RulesThatManySamplesAreComparedWithHaveALimit) {
  v1::SweepSpec sweep = SampledSweepFrom(
      "sampling: {random: {trials: 100000}}, axes: [{field: seed, range: {min: 1, max: 1000000}}, {field: "
      "dropout, values: [0, 0.1]}], exclude: [{dropout: 0.1}]");
  for (int i = 0; i < 1000; ++i) *sweep.add_exclude() = sweep.exclude(0);
  EXPECT_EQ(
      SweepGrid::Create(sweep).status().message(),
      "sampling: 100000 points are more than 99900, which 1001 conditions and exclusions allow; draw fewer "
      "samples, or name several labels in one exclusion");
  sweep.mutable_exclude()->RemoveLast();
  EXPECT_TRUE(SweepGrid::Create(sweep).ok());
}

}  // namespace
}  // namespace inlier
