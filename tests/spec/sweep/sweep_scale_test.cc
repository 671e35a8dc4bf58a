// `--scale`: settings of a scale override those of the sweep, and its mistakes are reported at their place.
#include "spec/sweep/sweep_scale.h"

#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 16 lines; a scale begins on line 18, its fields in column 5.
constexpr char kSweepWithScale[] =
    "name: demo\n"
    "description: the whole\n"
    "base:\n"
    "  model: {bert: {preset: base}}\n"
    "  data: {text: {corpus: wiki, tokenizer: {wordpiece: {}}, sequence_length: 128}}\n"
    "  training:\n"
    "    steps: 1000000\n"
    "    schedule: {linear: {final_fraction: 0.5}, warmup_steps: 10000}\n"
    "axes:\n"
    "  - {name: method, variants: [{label: plain, set: {}}, {label: gated, set: {attention: {gate: {linear: "
    "{}}}}}]}\n"
    "  - {field: seed, values: [1, 2]}\n"
    "  - {zip: [training.batch_size, training.gradient_accumulation], values: [[8, 2], [16, 1]]}\n"
    "exclude: [{method: gated, seed: 2}]\n"
    "table:\n"
    "  rows: [method]\n"
    "  columns: [{measurement: perplexity, where: {seed: 1}}]\n"
    "scales:\n"
    "  small:\n";

absl::StatusOr<v1::SweepSpec> ReadScaled(const std::string& small, const std::string& scale = "small",
                                         const std::vector<std::string>& overrides = {}) {
  return ReadSweepText(kSweepWithScale + small, "s.yaml", overrides, scale);
}

v1::SweepSpec MustReadScaled(const std::string& small, const std::string& scale = "small",
                             const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<v1::SweepSpec> sweep = ReadScaled(small, scale, overrides);
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return sweep.ok() ? *sweep : v1::SweepSpec();
}

std::string ErrorOfScale(const std::string& small, const std::string& scale = "small",
                         const std::vector<std::string>& overrides = {}) {
  const absl::StatusOr<v1::SweepSpec> sweep = ReadScaled(small, scale, overrides);
  return sweep.ok() ? "OK" : std::string(sweep.status().message());
}

// A shell that completes the names of scales reads them from a file that someone else wrote.
TEST(SweepScaleTest, ANameHasNothingThatAShellReads) {
  for (const char* name : {"'$(touch x)'", "'`touch x`'", "'a;b'", "'a b'", "'*'", "'-x'", "\"a\\nb\""}) {
    const std::string text = "name: demo\nscales:\n  " + std::string(name) + ": {description: smaller}\n";
    const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepText(text, "s.yaml");
    ASSERT_FALSE(sweep.ok()) << name;
    EXPECT_THAT(std::string(sweep.status().message()),
                ::testing::AllOf(::testing::HasSubstr("s.yaml:2"),
                                 ::testing::HasSubstr("such a name has letters, digits")))
        << name;
  }
}

std::vector<std::string> AxesOf(const v1::SweepSpec& sweep) {
  std::vector<std::string> axes;
  const SweepGrid grid = SweepGrid::Create(sweep).value();
  for (const AxisInfo& axis : grid.axes()) {
    axes.push_back(axis.name + ":");
    for (const std::string& label : axis.labels) axes.back() += " " + label;
  }
  return axes;
}

constexpr char kScaledBase[] = "    base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}}\n";

TEST(SweepScaleTest, WithoutAScaleTheSweepIsAsItIsAndHasNoScales) {
  const v1::SweepSpec sweep = MustReadScaled(kScaledBase, "");
  EXPECT_EQ(sweep.name(), "demo");
  EXPECT_EQ(sweep.base().model().bert().preset(), "base");
  EXPECT_THAT(sweep.scales(), IsEmpty());
}

TEST(SweepScaleTest, BaseIsMergedAndAMemberOfAChoiceTakesThePlaceOfTheOther) {
  const v1::SweepSpec sweep = MustReadScaled(
      "    base:\n"
      "      model: {bert: {preset: tiny}}\n"
      "      data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 500}}}}\n"
      "      training: {steps: 300, schedule: {constant: {}, warmup_steps: 5}}\n");
  EXPECT_EQ(sweep.name(), "demo-small");
  EXPECT_EQ(sweep.description(), "the whole");
  EXPECT_THAT(sweep.scales(), IsEmpty());
  const v1::TrialSpec& base = sweep.base();
  EXPECT_EQ(base.model().bert().preset(), "tiny");
  EXPECT_EQ(base.data().text().corpus(), "kjv");
  EXPECT_EQ(base.data().text().sequence_length(), 128u) << "stays";
  EXPECT_FALSE(base.data().text().tokenizer().has_wordpiece());
  EXPECT_EQ(base.data().text().tokenizer().byte_pair().vocab_size(), 500u);
  EXPECT_FALSE(base.training().schedule().has_linear());
  EXPECT_TRUE(base.training().schedule().has_constant());
  EXPECT_EQ(base.training().schedule().warmup_steps(), 5u);
  EXPECT_EQ(sweep.exclude_size(), 1);
  EXPECT_EQ(sweep.table().rows_size(), 1);
}

TEST(SweepScaleTest, AnotherKindOfModelTakesThePlaceOfTheSweeps) {
  const v1::SweepSpec sweep = MustReadScaled(
      "    base: {model: {gpt2: {preset: tiny}}, data: {text: {corpus: kjv, tokenizer: {byte_pair: {}}}}}\n");
  EXPECT_FALSE(sweep.base().model().has_bert());
  EXPECT_EQ(sweep.base().model().gpt2().preset(), "tiny");
}

TEST(SweepScaleTest, AxesAreReplacedRemovedAndAddedByName) {
  const v1::SweepSpec sweep = MustReadScaled(
      "    axes:\n"
      "    - {field: seed, values: [7]}\n"
      "    - {name: batch_size+gradient_accumulation}\n"
      "    - {name: width, field: model.bert.hidden_size, values: [96, 192]}\n"
      "    exclude: [{method: gated, width: 96}]\n"
      "    table: {rows: [width], columns: [{measurement: loss}]}\n"
      "    description: a part\n");
  EXPECT_THAT(AxesOf(sweep), ElementsAre("method: plain gated", "seed: 7", "width: 96 192"));
  EXPECT_EQ(SweepGrid::Create(sweep)->kept(), 3u);
  EXPECT_EQ(sweep.table().rows(0), "width");
  EXPECT_EQ(sweep.table().columns(0).measurement(), "loss");
  EXPECT_EQ(sweep.description(), "a part");
}

TEST(SweepScaleTest, ExclusionsOfTheSweepStayAsFarAsTheirLabelsAreThere) {
  const auto kept = [](const std::string& small) { return SweepGrid::Create(MustReadScaled(small))->kept(); };
  const std::string table = "    table: {columns: [{measurement: loss}]}\n";
  EXPECT_EQ(kept("    base: {dropout: 0.1}\n"), 6u) << "2 methods, 2 seeds, 2 batches; 2 left out";
  EXPECT_EQ(kept("    axes: [{field: seed, values: [2, 3]}]\n" + table), 6u);
  EXPECT_EQ(kept("    axes: [{field: seed, values: [1, 3]}]\n"), 8u);
  EXPECT_EQ(kept("    axes: [{field: seed}]\n" + table), 4u);
}

TEST(SweepScaleTest, OverridesStandOverTheScale) {
  const v1::SweepSpec sweep =
      MustReadScaled("    base: {training: {steps: 20000}}\n", "small", {"training.steps=30000"});
  EXPECT_EQ(sweep.base().training().steps(), 30000u);
  EXPECT_EQ(
      ErrorOfScale("    axes: [{field: dropout, values: [0, 0.1]}]\n", "small", {"dropout=0.2"}),
      "--set dropout=0.2: an axis of the sweep sets dropout at every point; change the axis in the file");
}

TEST(SweepScaleTest, UnknownScaleIsAnsweredWithThoseThereAre) {
  EXPECT_EQ(ErrorOfScale(kScaledBase, "smal"),
            "s.yaml:17:1: scales: \"smal\" is not a scale of this sweep; did you mean \"small\"?");
  EXPECT_EQ(ErrorOfScale(std::string(kScaledBase) + "  tiny:\n" + kScaledBase, "huge"),
            "s.yaml:17:1: scales: \"huge\" is not a scale of this sweep; known: small, tiny");
  const absl::StatusOr<v1::SweepSpec> none = ReadSweepText(
      "name: a\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2}}\n",
      "s.yaml", {}, "small");
  EXPECT_EQ(none.status().message(),
            "s.yaml:1:1: scales: \"small\" is not there, for the sweep has one size only");
}

TEST(SweepScaleTest, MistakesThatTheReaderSeesNameTheScaleWithoutItsBeingAskedFor) {
  EXPECT_EQ(ErrorOfScale("    base: {training: {stepz: 1}}\n", ""),
            "s.yaml:19:23: scales.small.base.training.stepz: unknown field; did you mean \"steps\"?");
  EXPECT_EQ(ErrorOfScale("    bas: {}\n", ""),
            "s.yaml:19:5: scales.small.bas: unknown field; did you mean \"base\"?");
  EXPECT_EQ(
      ErrorOfScale("    base: {training: {steps: 0}}\n", ""),
      "s.yaml:19:30: scales.small.base.training.steps: 0 is out of range: give a whole number from 1 to "
      "1000000000");
}

TEST(SweepScaleTest, MistakesOfTheMergedSweepAreToldWhereTheyStand) {
  // The scale's steps are fewer than the warm-up, which is in the sweep.
  EXPECT_EQ(
      ErrorOfScale("    base: {training: {steps: 300}}\n"),
      "s.yaml:8:47: base.training.schedule.warmup_steps: 10000 is more than training.steps 300: shorten the "
      "warm-up, or train longer");
  EXPECT_EQ(
      ErrorOfScale("    base: {training: {steps: 300, schedule: {warmup_steps: 400}}}\n"),
      "s.yaml:19:46: scales.small.base.training.schedule.warmup_steps: 400 is more than training.steps 300: "
      "shorten the warm-up, or train longer");
  EXPECT_EQ(
      ErrorOfScale("    base: {model: {bert: {heads: 7}}}\n"),
      "s.yaml:19:27: scales.small.base.model.bert.heads: 7 does not divide hidden_size 768: choose heads so "
      "that hidden_size / heads is whole");
  EXPECT_EQ(
      ErrorOfScale("    axes:\n    - {field: seed, values: [1]}\n    - {name: sed}\n"),
      "s.yaml:21:7: scales.small.axes[1]: \"sed\" has no values and is not an axis to remove; did you mean "
      "\"seed\"?");
  EXPECT_EQ(
      ErrorOfScale("    axes: [{field: model.bert.heads, values: [12, 7]}]\n"),
      "s.yaml:19:51: scales.small.axes[0].values[1]: model.bert.heads: 7 does not divide hidden_size 768: "
      "choose heads so that hidden_size / heads is whole (in the trial method=plain, seed=1, "
      "batch_size+gradient_accumulation=8+2, heads=7)");
  EXPECT_EQ(
      ErrorOfScale("    exclude: [{methd: gated}]\n"),
      "s.yaml:19:16: scales.small.exclude[0].methd: \"methd\" is not an axis of this sweep; did you mean "
      "\"method\"?");
  EXPECT_EQ(
      ErrorOfScale("    table: {rows: [methd], columns: [{measurement: loss}]}\n"),
      "s.yaml:19:20: scales.small.table.rows[0]: \"methd\" is neither an axis of this sweep nor a column of "
      "trials; did you mean \"method\"?");
  // The first exclusion is gone at this scale; the second keeps its place.
  const std::string text = kSweepWithScale;
  const std::string more = "exclude: [{seed: 1, method: plain}, {methd: gated}]";
  const std::size_t at = text.find("exclude: [{method: gated, seed: 2}]");
  EXPECT_EQ(
      ReadSweepText(std::string(text).replace(at, 35, more) +
                        "    axes: [{field: seed, values: [2]}]\n    table: "
                        "{columns: [{measurement: loss}]}\n",
                    "s.yaml", {}, "small")
          .status()
          .message(),
      "s.yaml:13:38: exclude[1].methd: \"methd\" is not an axis of this sweep; did you mean \"method\"?");
  // The sweep's own table names a label that the scale's axis has no more.
  EXPECT_EQ(ErrorOfScale("    axes: [{field: seed, values: [2, 3]}]\n    exclude: [{seed: 3}]\n"),
            "s.yaml:16:47: table.columns[0].where.seed: \"1\" is not a label of axis seed; known: 2, 3");
}

TEST(SweepScaleTest, AMistakeInAnAxisOfTheSweepKeepsItsPlaceBesideTheScales) {
  const std::string text =
      "name: a\n"
      "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 9}}\n"
      "axes:\n"
      "- {field: seed, values: [1]}\n"
      "- {field: model.bert.heads, values: [3]}\n"
      "scales: {small: {axes: [{field: seed}]}}\n";
  EXPECT_EQ(
      ReadSweepText(text, "s.yaml", {}, "small").status().message(),
      "s.yaml:5:38: axes[1].values[0]: model.bert.heads: 3 does not divide hidden_size 128: choose heads so "
      "that hidden_size / heads is whole (in the trial heads=3)");
}

TEST(SweepScaleTest, ASubmissionWithScalesIsRightAndTheyAreIgnored) {
  v1::SweepSpec sweep = MustReadScaled(kScaledBase, "");
  (*sweep.mutable_scales())["small"].mutable_table()->add_columns();  // Without a measurement.
  EXPECT_TRUE(CheckedGrid(sweep).ok()) << CheckedGrid(sweep).status();
}

TEST(SweepScaleTest, ScalesOfAFileAreListed) {
  const std::string file = ::testing::TempDir() + "/inlier_sweep_scale_test.yaml";
  std::ofstream(file) << kSweepWithScale << kScaledBase << "  tiny:\n" << kScaledBase;
  const auto names = ReadScaleNames(file).value();
  EXPECT_THAT(names, ElementsAre("small", "tiny"));
  EXPECT_TRUE(ReadSweepFile(file, {"training.schedule.warmup_steps=0"}, "tiny").ok());
}

}  // namespace
}  // namespace inlier
