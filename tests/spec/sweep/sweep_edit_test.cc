// Where the points of a sweep are after an edit, against a search for them by their labels.
#include "spec/sweep/sweep_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

constexpr char kEditedHead[] =
    "name: edited\n"
    "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 10}}\n";

v1::SweepSpec ReadEdited(const std::string& rest) {
  const absl::StatusOr<v1::SweepSpec> spec = ReadSweepText(kEditedHead + rest, "sweep.yaml");
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : v1::SweepSpec();
}

absl::StatusOr<SweepEdit> Make(const v1::SweepSpec& from, const v1::SweepSpec& to) {
  return SweepEdit::Create(from, *SweepGrid::Create(from), to, *SweepGrid::Create(to));
}

// Labels and specification of every point, in any order of the axes -> index.
std::map<std::string, std::uint64_t> PointsOf(const v1::SweepSpec& spec) {
  const SweepGrid grid = *SweepGrid::Create(spec);
  std::map<std::string, std::uint64_t> points;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const GridPoint point = *grid.At(*index);
    const std::map<std::string, std::string> labels(point.labels.begin(), point.labels.end());
    std::string key = point.spec.SerializeAsString();
    for (const auto& [axis, label] : labels) key += "|" + axis + "=" + label;
    points[key] = *index;
  }
  return points;
}

// The mapping is that of a comparison of all points; returns the edit.
SweepEdit CheckAgainstPoints(const std::string& before, const std::string& after) {
  const v1::SweepSpec from = ReadEdited(before);
  const v1::SweepSpec to = ReadEdited(after);
  SweepEdit edit = Make(from, to).value();
  const auto new_points = PointsOf(to);
  std::uint64_t common = 0;
  for (const auto& [key, index] : PointsOf(from)) {
    const auto expected = new_points.find(key);
    const std::optional<std::uint64_t> mapped = edit.NewIndex(index);
    EXPECT_EQ(mapped.has_value(), expected != new_points.end()) << key;
    if (!mapped || expected == new_points.end()) continue;
    EXPECT_EQ(*mapped, expected->second) << key;
    ++common;
  }
  if (edit.common()) {
    EXPECT_EQ(*edit.common(), common);
  }
  return edit;
}

constexpr char kPlain[] =
    "axes:\n"
    "  - {field: seed, values: [1, 2, 3]}\n"
    "  - {field: quantization.weights.bits, values: [8, 6]}\n";

TEST(SweepEditTest, ValuesComeGoAndChangePlaces) {
  const SweepEdit edit = CheckAgainstPoints(kPlain,
                                            "axes:\n"
                                            "  - {field: seed, values: [5, 3, 1]}\n"
                                            "  - {field: quantization.weights.bits, values: [4, 6, 8]}\n");
  EXPECT_EQ(edit.common(), 4u);
  EXPECT_FALSE(edit.only_appends());
}

TEST(SweepEditTest, ValuesAtTheEndOfTheFirstAxisMoveNothing) {
  EXPECT_TRUE(CheckAgainstPoints(kPlain, kPlain).only_appends());
  EXPECT_TRUE(CheckAgainstPoints(kPlain,
                                 "axes:\n"
                                 "  - {field: seed, values: [1, 2, 3, 4]}\n"
                                 "  - {field: quantization.weights.bits, values: [8, 6]}\n")
                  .only_appends());
  EXPECT_FALSE(CheckAgainstPoints(kPlain,
                                  "axes:\n"
                                  "  - {field: seed, values: [1, 2, 3]}\n"
                                  "  - {field: quantization.weights.bits, values: [8, 6, 4]}\n")
                   .only_appends());
}

TEST(SweepEditTest, AxesMayChangeTheirOrder) {
  const SweepEdit edit = CheckAgainstPoints(kPlain,
                                            "axes:\n"
                                            "  - {field: quantization.weights.bits, values: [6, 8]}\n"
                                            "  - {field: seed, values: [1, 2, 3]}\n");
  EXPECT_EQ(edit.common(), 6u);
}

constexpr char kVariants[] =
    "axes:\n"
    "  - {name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: {attention: {softmax: "
    "{clipped: "
    "{gamma: -0.03}}}}}]}\n"
    "  - {field: training.batch_size, values: [2, 4, 8], when: {method: clipped}}\n"
    "  - {field: seed, values: [1, 2]}\n"
    "exclude: [{batch_size: 8, seed: 2}]\n";

TEST(SweepEditTest, VariantThatSetsSomethingElseIsAnotherPoint) {
  const SweepEdit edit =
      CheckAgainstPoints(kVariants,
                         "axes:\n"
                         "  - {name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: "
                         "{attention: {softmax: {clipped: "
                         "{gamma: -0.1}}}}}]}\n"
                         "  - {field: training.batch_size, values: [2, 4, 8], when: {method: clipped}}\n"
                         "  - {field: seed, values: [1, 2]}\n"
                         "exclude: [{batch_size: 8, seed: 2}]\n");
  EXPECT_EQ(edit.common(), 2u);  // The points of vanilla.
}

TEST(SweepEditTest, ConditionsAndExclusionsMayChange) {
  const SweepEdit edit = CheckAgainstPoints(kVariants,
                                            "axes:\n"
                                            "  - {name: method, variants: [{label: clipped, set: {attention: "
                                            "{softmax: {clipped: {gamma: -0.03}}}}}, "
                                            "{label: vanilla, set: {}}]}\n"
                                            "  - {field: training.batch_size, values: [4, 2, 8, 16]}\n"
                                            "  - {field: seed, values: [2, 1, 3]}\n"
                                            "exclude: [{batch_size: 4}]\n");
  EXPECT_EQ(edit.common(),
            3u);  // Clipped with 2 and two seeds, with 8 and one; vanilla has a batch size now.
}

TEST(SweepEditTest, AxesWithConditionsMayChangeTheirOrder) {
  const SweepEdit edit =
      CheckAgainstPoints(kVariants,
                         "axes:\n"
                         "  - {field: seed, values: [1, 2]}\n"
                         "  - {name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: "
                         "{attention: {softmax: {clipped: {gamma: -0.03}}}}}]}\n"
                         "  - {field: training.batch_size, values: [2, 8], when: {method: clipped}}\n");
  EXPECT_EQ(edit.common(), 5u);
}

TEST(SweepEditTest, PointsOfLargeSweepsWithExclusionsAreNotCountedAgain) {
  std::string values;
  for (int i = 1; i <= 400; ++i) values += (i > 1 ? ", " : "") + std::to_string(i);
  const v1::SweepSpec from = ReadEdited("axes:\n  - {field: seed, values: [" + values +
                                        "]}\n  - {field: training.batch_size, values: [" + values +
                                        "]}\nexclude: [{seed: 1, batch_size: 1}]\n");
  v1::SweepSpec to = from;
  to.mutable_axes(0)->add_values()->set_number_value(401);
  EXPECT_EQ(Make(from, to)->common(), 400u * 400 - 1);  // It only appends.
  to.mutable_axes(1)->add_values()->set_number_value(401);
  EXPECT_EQ(Make(from, to)->common(), std::nullopt);
  EXPECT_EQ(Make(from, to)->NewIndex(1), 1u);
}

TEST(SweepEditTest, MillionPointsAreMappedAxisByAxis) {
  std::string values;
  for (int i = 1; i <= 1000; ++i) values += (i > 1 ? ", " : "") + std::to_string(i);
  const v1::SweepSpec from = ReadEdited("axes:\n  - {field: seed, values: [" + values +
                                        "]}\n  - {field: training.batch_size, values: [" + values + "]}\n");
  v1::SweepSpec to = from;
  to.mutable_axes(0)->mutable_values()->DeleteSubrange(0, 1);  // Seed 1 leaves.
  to.mutable_axes(1)->add_values()->set_number_value(1001);
  const SweepEdit edit = Make(from, to).value();
  EXPECT_EQ(edit.common(), 999'000u);
  EXPECT_EQ(edit.NewIndex(0), std::nullopt);
  EXPECT_EQ(edit.NewIndex(1000), 0u);
  EXPECT_EQ(edit.NewIndex(999'999), 998u * 1001 + 999);
}

TEST(SweepEditTest, OtherNameBaseAndAxesAreRefusedWithTheRemedy) {
  const v1::SweepSpec from = ReadEdited(kPlain);
  v1::SweepSpec name = from;
  name.set_name("other");
  EXPECT_THAT(std::string(Make(from, name).status().message()), HasSubstr("is called edited, not other"));
  v1::SweepSpec base = from;
  base.mutable_base()->mutable_training()->set_steps(11);
  EXPECT_THAT(std::string(Make(from, base).status().message()),
              HasSubstr("modified: training.steps: 10 -> 11"));
  v1::SweepSpec axes = from;
  axes.mutable_axes()->RemoveLast();
  EXPECT_THAT(std::string(Make(from, axes).status().message()),
              HasSubstr("the sweep has seed, bits, the edit seed"));
}

TEST(SweepEditTest, SampledPointsAndPruningStayAndLimitsMayChange) {
  const v1::SweepSpec sampled = ReadEdited(
      "sampling: {random: {trials: 4, seed: 1}}\n"
      "axes:\n  - {field: training.optimizer.adamw.learning_rate, range: {min: 1e-5, max: 1e-2, log: "
      "true}}\n");
  v1::SweepSpec more = sampled;
  more.mutable_sampling()->mutable_random()->set_trials(8);
  EXPECT_THAT(std::string(Make(sampled, more).status().message()), HasSubstr("cannot be edited (limits"));
  v1::SweepSpec faster = sampled;
  faster.set_priority(3);
  EXPECT_TRUE(Make(sampled, faster).ok());
  const v1::SweepSpec plain = ReadEdited("axes: [{field: seed, values: [1, 2]}]\n");
  v1::SweepSpec pruned = plain;
  pruned.mutable_pruning()->set_measurement("loss");
  EXPECT_THAT(std::string(Make(plain, pruned).status().message()), HasSubstr("pruning: decisions were made"));
}

}  // namespace
}  // namespace inlier
