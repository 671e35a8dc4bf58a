#include "spec/sweep/sweep_reader.h"

#include <cstdlib>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/sweep/point_labels.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

constexpr char kBase[] =
    "name: demo\n"
    "base:\n"
    "  model: {bert: {preset: tiny}}\n"
    "  data: {text: {corpus: kjv}}\n"
    "  training: {steps: 2000}\n";

// The error of reading the base with `more` appended, or "OK".
std::string ErrorOfSweep(const std::string& more, const std::vector<std::string>& overrides = {}) {
  return MessageOf(ReadSweepText(kBase + more, "s.yaml", overrides).status());
}

// A grid of hidden sizes for 2 heads, which must be even; the one at `odd` is not.
v1::SweepSpec HiddenSizes(int values, int odd) {
  v1::SweepSpec sweep;
  sweep.set_name("sizes");
  v1::BertSpec& bert = *sweep.mutable_base()->mutable_model()->mutable_bert();
  bert.set_preset("tiny");
  bert.set_heads(2);
  sweep.mutable_base()->mutable_data()->mutable_text()->set_corpus("kjv");
  sweep.mutable_base()->mutable_training()->set_steps(10);
  v1::Axis& axis = *sweep.add_axes();
  axis.set_field("model.bert.hidden_size");
  for (int i = 0; i < values; ++i) axis.add_values()->set_number_value(100 + 2 * i + (i == odd ? 1 : 0));
  return sweep;
}

TEST(SweepReaderTest, TheCoordinatorSaysOfAShortAxisWhatTheReaderSays) {
  for (const int odd : {1, 57, 127}) {
    const v1::SweepSpec sweep = HiddenSizes(128, odd);
    const absl::StatusOr<SweepGrid> grid = CheckedGrid(sweep);
    EXPECT_EQ(grid.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(grid.status(), FindSweepProblems(sweep).ToStatus());
    EXPECT_NE(grid.status().message().find("axes[0].values[" + std::to_string(odd) + "]: model.bert.heads"),
              absl::string_view::npos)
        << grid.status();
  }
}

TEST(SweepReaderTest, OfALongAxisTheCoordinatorTriesBothEndsAndLeavesTheRestToTheTrials) {
  EXPECT_FALSE(CheckedGrid(HiddenSizes(1000, 0)).ok());
  EXPECT_FALSE(CheckedGrid(HiddenSizes(1000, 999)).ok());
  const SweepGrid grid = CheckedGrid(HiddenSizes(1000, 500)).value();
  EXPECT_EQ(grid.size(), 1000u);
  EXPECT_FALSE(FindSweepProblems(HiddenSizes(1000, 500)).empty());
  // A value of the wrong type or out of its range is never let through.
  v1::SweepSpec wrong = HiddenSizes(1000, -1);
  wrong.mutable_axes(0)->mutable_values(500)->set_string_value("x");
  EXPECT_FALSE(CheckedGrid(wrong).ok());
}

TEST(SweepReaderTest, TheCoordinatorReportsEveryProblemAndBothEndsOfASampledRange) {
  v1::SweepSpec wrong = HiddenSizes(2, 1);
  const absl::Status one = CheckedGrid(wrong).status();
  wrong.mutable_table()->add_rows("nothing");
  const absl::Status both = CheckedGrid(wrong).status();
  ASSERT_FALSE(one.ok());
  EXPECT_GT(both.message().size(), one.message().size());
  // The points that a sampling draws may miss the end of the range that is wrong.
  v1::SweepSpec sampled = HiddenSizes(2, -1);
  sampled.mutable_sampling()->mutable_sobol()->set_trials(1);
  sampled.mutable_axes(0)->set_each(true);
  v1::Axis& heads = *sampled.add_axes();
  heads.set_field("model.bert.heads");
  heads.mutable_range()->set_min(2);
  heads.mutable_range()->set_max(3);
  EXPECT_FALSE(CheckedGrid(sampled).ok());
}

TEST(SweepReaderTest, ReadsTheSweepOfTheArchitecturePage) {
  const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepText(
      "name: clipped_softmax_gamma\n"
      "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2000}}\n"
      "axes:\n"
      "  - {field: attention.softmax.clipped.gamma, values: [0, -0.003, -0.03, -0.1]}\n"
      "  - {name: method, variants: [{label: plain, set: {}}, {label: gated, set: {attention: {gate: "
      "{linear: {}}}}}]}\n"
      "  - {zip: [training.optimizer.adamw.learning_rate, training.steps], values: [[1e-3, 2000], [3e-4, "
      "4000]]}\n"
      "  - {field: seed, values: [1, 2, 3]}\n"
      "  - {field: quantization.weights.bits, values: [8, 6, 4]}       # an evaluation axis: nothing is "
      "trained again\n"
      "exclude: [{method: gated, bits: 4}]\n"
      "table: {rows: [method, gamma], columns: [{measurement: perplexity, where: {bits: 8, softmax: "
      "clipped}}]}\n",
      "s.yaml");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->axes_size(), 5);
  EXPECT_EQ(sweep->axes(4).field(), "quantization.weights.bits");
}

TEST(SweepReaderTest, TheNameIsRequiredAndPlain) {
  EXPECT_EQ(ReadSweepText("description: x", "s.yaml").status().message(),
            "s.yaml:1:1: name: is missing: give a text\n"
            "s.yaml:1:1: base.model: nothing is chosen: give one of bert, opt, gpt2, llama or vit\n"
            "s.yaml:1:1: base.data: nothing is chosen: give one of text, images, classification, "
            "instructions or backcopy\n"
            "s.yaml:1:1: base.training: nothing is chosen: give one of steps or epochs");
  EXPECT_EQ(
      ReadSweepText("name: a/b\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: "
                    "{steps: 2}}",
                    "s.yaml")
          .status()
          .message(),
      "s.yaml:1:1: name: \"a/b\" cannot name a sweep: use 1 to 100 letters, digits, \"_\", \"-\" and \".\", "
      "neither \"-\" nor \".\" first, and no id such as s-1 or t-7");
}

TEST(SweepReaderTest, WhatIsWrongWithTheBaseIsToldOnceAtItsLine) {
  EXPECT_EQ(
      ErrorOfSweep("  attention: {softmax: {clipped: {}}}\naxes:\n- {field: seed, values: [1, 2, 3]}\n"),
      "s.yaml:6:25: base.attention.softmax.clipped: nothing is chosen: give one of gamma or alpha");
  EXPECT_EQ(
      ErrorOfSweep("  quantization: {}\n"),
      "s.yaml:6:3: base.quantization: has nothing to quantize; give weights, activations or kv_cache, for "
      "example {weights: {bits: 8}, activations: {bits: 8}}");
}

TEST(SweepReaderTest, WhatIsWrongWithAValueIsToldAtTheValueWithTheTrial) {
  EXPECT_EQ(
      ErrorOfSweep(
          "axes:\n- {field: seed, values: [1, 2]}\n- {field: model.bert.heads, values: [4, 3, 8, 5]}\n"),
      "s.yaml:8:41: axes[1].values[1]: model.bert.heads: 3 does not divide hidden_size 128: choose heads so "
      "that hidden_size / heads is whole "
      "(in the trial seed=1, heads=3)\n"
      "s.yaml:8:47: axes[1].values[3]: model.bert.heads: 5 does not divide hidden_size 128: choose heads so "
      "that hidden_size / heads is whole "
      "(in the trial seed=1, heads=5)");
  EXPECT_EQ(ErrorOfSweep("axes:\n- {field: model.bert.preset, values: [tyni, tiny]}\n"),
            "s.yaml:7:39: axes[0].values[0]: model.bert.preset: \"tyni\" is not a preset of bert; did you "
            "mean \"tiny\"? (in the trial preset=tyni)");
}

TEST(SweepReaderTest, PointsThatAreExcludedNeedNotBeRight) {
  const std::string axes =
      "axes:\n- {field: model.bert.hidden_size, values: [128, 96]}\n- {field: model.bert.heads, values: [8, "
      "64]}\n";
  EXPECT_EQ(ErrorOfSweep(axes + "exclude: [{hidden_size: 96, heads: 64}]\n"), "OK");
  EXPECT_EQ(ErrorOfSweep("axes:\n- {field: model.bert.heads, values: [4, 3]}\nexclude: [{heads: 3}]\n"),
            "OK");
}

TEST(SweepReaderTest, FormsOfAxesAreToldWithTheirPlace) {
  EXPECT_EQ(ErrorOfSweep("axes:\n- {field: seed, values: [1]}\n- {field: sedd, values: [1]}\n"),
            "s.yaml:8:4: axes[1].field: sedd: unknown field; did you mean \"seed\"?");
  EXPECT_EQ(ErrorOfSweep("axes:\n- {field: seed, values: []}\n"),
            "s.yaml:7:17: axes[0].values: is empty; give at least one value, or remove the axis");
  EXPECT_EQ(ErrorOfSweep("axes:\n- {field: seed, values: [1, 2, 1]}\n"),
            "s.yaml:7:32: axes[0].values[2]: \"1\" is there twice; remove one");
  EXPECT_EQ(ErrorOfSweep("axes:\n- {field: seed, values: [1, 2]}\nexclude:\n- {sed: 1}\n"),
            "s.yaml:9:4: exclude[0].sed: \"sed\" is not an axis of this sweep; did you mean \"seed\"?");
}

TEST(SweepReaderTest, AValueIsToldAtItsPlaceAlsoBehindOneThatHasNoForm) {
  EXPECT_EQ(
      ErrorOfSweep("axes:\n- zip: [seed, training.steps]\n  values: [[1], [2, 3], [2, 3]]\n"),
      "s.yaml:8:12: axes[0].values[0]: has 1 values; zip names 2 fields, give a list of as many values\n"
      "s.yaml:8:25: axes[0].values[2]: \"2+3\" is there twice; remove one");
  EXPECT_EQ(
      ErrorOfSweep("axes:\n- name: method\n  variants:\n  - {label: a, set: {seed: 1}}\n  - {label: b, set: "
                   "{seed: 2}}\n  - {label: c, set: {seed: 1}}\n"),
      "s.yaml:11:5: axes[0].variants[2]: sets the same as \"a\"; remove one");
}

TEST(SweepReaderTest, EveryGroupOfATrialThatIsWrongIsToldAlsoWhereOnlyAnotherChanges) {
  EXPECT_EQ(
      ErrorOfSweep(
          "axes:\n- {field: seed, values: [1, 2]}\n- name: method\n  variants:\n  - {label: a, set: {}}\n"
          "  - {label: b, set: {attention: {softmax: {clipped: {}}}}}\n"
          "  - {label: c, set: {attention: {softmax: {clipped: {alpha: 4}}}}}\n"
          "- name: start\n  variants:\n  - {label: fresh, set: {}}\n"
          "  - {label: given, set: {training: {start_from: {}}}}\n"),
      "s.yaml:11:5: axes[1].variants[1]: attention.softmax.clipped: nothing is chosen: give one of gamma "
      "or alpha (in the trial seed=1, method=b, start=fresh)\n"
      "s.yaml:16:5: axes[2].variants[1]: training.start_from: nothing is chosen: give one of hugging_face, "
      "checkpoint, point, trial or training (in the trial seed=1, method=a, start=given)");
}

TEST(SweepReaderTest, TablesMustNameWhatExists) {
  const std::string axes = "axes:\n- {field: seed, values: [1, 2]}\n";
  EXPECT_EQ(
      ErrorOfSweep(axes + "table:\n  rows: [softmax, sed]\n  columns:\n  - {measurement: perplexty}\n  - "
                          "{measurement: loss, where: {seed: 3, sofmax: x}, decimals: 99}\n"),
      "s.yaml:9:19: table.rows[1]: \"sed\" is neither an axis of this sweep nor a column of trials; "
      "did you mean \"seed\"?\n"
      "s.yaml:11:6: table.columns[0].measurement: \"perplexty\" is not a final measurement of a trial; did "
      "you "
      "mean "
      "\"perplexity\"?\n"
      "s.yaml:12:54: table.columns[1].decimals: 99 is out of range: give a whole number from 0 to 15\n"
      "s.yaml:12:33: table.columns[1].where.seed: \"3\" is not a label of axis seed; known: 1, 2\n"
      "s.yaml:12:42: table.columns[1].where.sofmax: \"sofmax\" is neither an axis of this sweep nor a "
      "column of trials; did you mean \"softmax\"?");
  EXPECT_EQ(ErrorOfSweep(axes + "table: {rows: [seed]}\n"),
            "s.yaml:8:1: table.columns: is empty; give at least one, such as {measurement: perplexity}");
  EXPECT_EQ(
      ErrorOfSweep(axes + "table: {columns: [{heading: x}]}\n"),
      "s.yaml:8:19: table.columns[0]: give a measurement, such as {measurement: perplexity}, or mean_of");
  EXPECT_EQ(
      ErrorOfSweep(axes +
                   "table:\n  columns:\n  - {measurement: loss, best_of: {over: [sed]}, mean_over: [rat]}\n"
                   "  - {heading: mean, mean_of: [[loss], los]}\n  correlate: [{x: loss, y: ppl}]\n"),
      "s.yaml:11:39: table.columns[1].mean_of[1]: no column has the heading \"los\"; did you mean \"loss\"?\n"
      "s.yaml:12:25: table.correlate[0].y: no column has the heading \"ppl\"; known: loss, mean\n"
      "s.yaml:10:35: table.columns[0].best_of.over: \"sed\" is neither an axis of this sweep nor a column of "
      "trials; "
      "did you mean \"seed\"?\n"
      "s.yaml:10:49: table.columns[0].mean_over: \"rat\" is neither an axis of this sweep nor a column of "
      "trials");
}

TEST(SweepReaderTest, ColumnsThatNoTrialMeasuresAreRefused) {
  const std::string axes =
      "axes:\n- name: bits\n  variants:\n  - {label: float, set: {}}\n"
      "  - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}}}}\n";
  const auto table = [&axes](const std::string& column, const std::string& more = "") {
    return ErrorOfSweep(axes + "table: {columns: [{measurement: " + column + "}]}\n" + more);
  };
  EXPECT_EQ(table("min_sqnr, where: {bits: W8A8}"),
            "s.yaml:11:20: table.columns[0].measurement: min_sqnr is measured by none of the 1 trials that "
            "it is of: only trials with quantization have it, with evaluation.measure: ALL");
  EXPECT_THAT(table("min_sqnr, where: {bits: float}"), testing::HasSubstr("none of the 1 trials"));
  EXPECT_EQ(table("sink_rate"), "OK");
  const auto figure = [&axes](const std::string& text) {
    return ErrorOfSweep(axes + "figures: [{" + text + "}]\n");
  };
  EXPECT_EQ(figure("kind: BARS, y: sink_rate"), "OK");
  EXPECT_EQ(figure("kind: BARS, y: sink_rate, where: {bits: W8A8}"),
            "s.yaml:11:24: figures[0].y: sink_rate is measured by none of the 1 trials that it is of: give "
            "them evaluation.measure: ALL, which quantized trials have only when asked, or name trials in "
            "float with where");
  EXPECT_THAT(figure("kind: SCATTER, x: min_sqnr, y: perplexity"),
              testing::HasSubstr("figures[0].x: min_sqnr is measured by none of the 2 trials"));
  EXPECT_EQ(figure("kind: CURVES, y: kurtosis_all, where: {bits: W8A8}"), "OK");
  EXPECT_THAT(table("sink_rate, where: {bits: [W8A8]}"), testing::HasSubstr("none of the 1 trials"));
  EXPECT_THAT(table("perplexity, where: {bits: W8A8}, best_of: {over: [bits], by: sink_rate}"),
              testing::HasSubstr("table.columns[0].best_of.by: sink_rate is measured by none"));
  EXPECT_EQ(table("max_inf_norm, where: {bits: W8A8}"), "OK");
  // Of a search every trial of a point is asked for what it is judged by.
  const std::string search = "sampling: {optuna: {trials: 4, objectives: [{measurement: sink_rate}]}}\n";
  const std::string rate = "- {field: training.optimizer.adamw.learning_rate, range: {min: 1e-4, max: 1e-2}}\n";
  EXPECT_THAT(
      ErrorOfSweep(axes + "  each: true\n" + rate + search),
      testing::HasSubstr("sampling.optuna.objectives[0].measurement: sink_rate is measured by not all"));
}

TEST(SweepReaderTest, OverridesChangeTheBase) {
  const v1::SweepSpec sweep = ReadSweepText(kBase, "s.yaml", {"training.steps=7", "seed=3"}).value();
  EXPECT_EQ(sweep.base().training().steps(), 7u);
  EXPECT_EQ(sweep.base().seed(), 3u);
  EXPECT_EQ(ErrorOfSweep("", {"training.stepz=7"}),
            "--set training.stepz=7: training.stepz: unknown field; did you mean \"training.steps\"?");
  EXPECT_EQ(ErrorOfSweep("axes:\n- {field: seed, values: [1]}\n", {"seed=3"}),
            "--set seed=3: an axis of the sweep sets seed at every point; change the axis in the file");
}

TEST(SweepReaderTest, ASubmissionIsCheckedWithoutAFile) {
  v1::SweepSpec sweep = *ReadSweepText(kBase, "s.yaml");
  EXPECT_TRUE(CheckedGrid(sweep).ok());
  sweep.mutable_base()->mutable_training()->set_steps(0);
  EXPECT_EQ(FindSweepProblems(sweep).ToStatus().message(),
            "base.training.steps: 0 is out of range: give a whole number from 1 to 1000000000");
  sweep.mutable_base()->clear_training();
  (*(*sweep.add_axes()->add_variants()->mutable_set()->mutable_fields())["training"]
        .mutable_struct_value()
        ->mutable_fields())["stepz"]
      .set_number_value(1);
  sweep.mutable_axes(0)->set_name("m");
  sweep.mutable_axes(0)->mutable_variants(0)->set_label("a");
  EXPECT_EQ(FindSweepProblems(sweep).ToStatus().message(),
            "axes[0].variants[0].set.training.stepz: unknown field; did you mean \"steps\"?");
}

TEST(SweepReaderTest, ReadsAFileByName) {
  const std::string file = ::testing::TempDir() + "/inlier_sweep_reader_test.yaml";
  std::ofstream(file) << kBase;
  EXPECT_TRUE(ReadSweepFile(file).ok());
  EXPECT_EQ(ReadSweepFile(file + ".none").status().code(), absl::StatusCode::kNotFound);
}

TEST(SweepReaderTest, ResourcesAreSharesOfOneGpuAndWholeMebibytes) {
  EXPECT_EQ(ErrorOfSweep("resources: {gpu: 0.25, memory_mib: 12000, gpu_memory_mib: 800}\npreempts: true\n"),
            "OK");
  EXPECT_EQ(ErrorOfSweep("resources: {gpu: 1.5}\n"),
            "s.yaml:6:18: resources.gpu: 1.5 is out of range: give a number from 0.001 to 1");
  EXPECT_EQ(ErrorOfSweep("resources: {memory_mib: 0}\n"),
            "s.yaml:6:25: resources.memory_mib: 0 is out of range: give a whole number from 1 to 1073741824");
}

TEST(SweepReaderTest, LimitsAreAboveZeroAndNeedNotFitEachOther) {
  EXPECT_EQ(ErrorOfSweep("limits: {attempt_hours: 4, trial_hours: 0.5, sweep_hours: 1e6, gpu_hours: 1e9}\n"),
            "OK");
  for (const std::string field : {"attempt_hours", "trial_hours", "sweep_hours", "gpu_hours"}) {
    EXPECT_THAT(ErrorOfSweep("limits: {" + field + ": 0}\n"),
                ::testing::HasSubstr("limits." + field + ": 0 is out of range"));
  }
}

TEST(SweepReaderTest, FlagsAndIdsNameNoSweep) {
  const auto read = [](const std::string& name) {
    return std::string(
        ReadSweepText("name: '" + name + "'\nbase: " + kTinyBert, "s.yaml").status().message());
  };
  for (const char* name : {"", "-x", "--help", ".", "..", ".x", "s-1", "t-7", "st-12", "a b", "a/b"})
    EXPECT_THAT(read(name), testing::HasSubstr("cannot name a sweep: use 1 to 100")) << name;
  for (const char* name : {"x", "_x", "s-1a", "s-", "s", "st", "a-1", "s-1-2", "ss-1", "1", "x.yaml"})
    EXPECT_EQ(read(name), "") << name;
}

TEST(SweepReaderTest, NullIsAPointThatLeavesTheFieldUnset) {
  const auto read = [](const std::string& rest, const std::string& base = "") {
    return ReadSweepText("name: x\nbase: " + (base.empty() ? std::string(kTinyBert) : base) + "\n" + rest,
                         "s.yaml");
  };
  const auto sweep = read(
      "axes:\n"
      "  - {field: attention.gate.linear.pi_init, values: [null, 0.25]}\n"
      "  - {field: seed, values: [1, 2], when: {pi_init: null}}\n");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const SweepGrid grid = *SweepGrid::Create(*sweep);
  EXPECT_EQ(grid.kept(), 3u);
  EXPECT_EQ(LabelsText(grid.At(0)->labels), "pi_init=null, seed=1");
  EXPECT_FALSE(grid.At(0)->spec.attention().has_gate());
  EXPECT_EQ(grid.At(2)->spec.attention().gate().linear().pi_init(), 0.25);
}

TEST(SweepReaderTest, NothingElseMaySetWhatNullLeavesUnset) {
  const auto error = [](const std::string& rest) {
    return std::string(
        ReadSweepText("name: x\nbase:\n  model: {bert: {preset: tiny}}\n  data: {text: {corpus: kjv}}\n"
                      "  attention: {gate: {linear: {}, initial_std: 0.1}}\n" +
                          rest,
                      "s.yaml")
            .status()
            .message());
  };
  EXPECT_THAT(
      error("axes: [{field: attention.gate.initial_std, values: [null, 0.02]}]"),
      testing::HasSubstr("s.yaml:6:53: axes[0].values[0]: null leaves attention.gate.initial_std unset, and "
                         "base sets it; set it in the other points alone"));
  EXPECT_THAT(
      error("axes: [{name: g, variants: [{label: off, set: {attention: {gate: null}}}, {label: on, set: "
            "{}}]}]"),
      testing::HasSubstr("axes[0].variants[0].set.attention.gate: null leaves attention.gate unset, and base "
                         "sets it"));
  EXPECT_THAT(
      error("axes:\n"
            "  - {name: q, variants: [{label: a, set: {quantization: null}}, {label: b, set: {seed: 1}}]}\n"
            "  - {field: quantization.weights.bits, values: [4, 8]}"),
      testing::HasSubstr(
          "axes[1].values[0]: sets quantization.weights.bits, which null is to leave unset, as "
          "axis q does at q=a"));
  EXPECT_THAT(error("tied: {training.steps: 5}\naxes: [{field: training.steps, values: [null, 4]}]"),
              testing::HasSubstr("null leaves training.steps unset, and tied sets training.steps"));
}

TEST(SweepReaderTest, NullInAScaleTakesWhatTheBaseHas) {
  const auto sweep = ReadSweepText(std::string("name: x\nbase: ") + kTinyBert +
                                       "\nscales: {small: {base: {seed: null, training: {steps: 3}}}}",
                                   "s.yaml", {"seed=4"}, "small");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->base().training().steps(), 3u);
}

TEST(SweepReaderTest, PathsOfTheFileAndOfOverridesAreExpanded) {
  ::setenv("INLIER_TEST_DATA", "/data", 1);
  const std::string file =
      "name: x\nbase:\n  model: {bert: {preset: tiny}}\n"
      "  data: {text: {path: '${INLIER_TEST_DATA}/a.txt', tokenizer: {byte_pair: {vocab_size: 300}}}}\n"
      "  training: {steps: 2}\n"
      "axes: [{field: data.text.path, values: ['${INLIER_TEST_DATA}/b.txt']}]\n";
  const auto sweep = ReadSweepText(file, "s.yaml");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->base().data().text().path(), "/data/a.txt");
  EXPECT_EQ(sweep->axes(0).values(0).string_value(), "/data/b.txt");
  const std::string no_axis = file.substr(0, file.find("axes:"));
  const auto changed = ReadSweepText(no_axis, "s.yaml", {"data.text.path=${INLIER_TEST_DATA}/c.txt"});
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->base().data().text().path(), "/data/c.txt");
  EXPECT_EQ(
      ReadSweepText(no_axis, "s.yaml", {"data.text.path=${INLIER_NONE}/c"}).status().message(),
      "--set data.text.path=${INLIER_NONE}/c: the environment variable INLIER_NONE is not set; set it, or "
      "write the path out");
}

}  // namespace
}  // namespace inlier
