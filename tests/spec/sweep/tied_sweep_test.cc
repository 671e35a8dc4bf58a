// Sweeps with `tied`: in grids, samples, scales, edits and programs, and every mistake with its place.
#include "gmock/gmock.h"
#include "grid_points.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_edit.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/canonical.h"
#include "spec/trial/resolver.h"
#include "tests/spec/program/program_folder.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTiedHead[] =
    "name: t\n"
    "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2000}}\n";

v1::SweepSpec TiedSweep(const std::string& rest, const std::string& scale = "") {
  const auto sweep = ReadSweepText(kTiedHead + rest, "t.yaml", {}, scale);
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return sweep.ok() ? *sweep : v1::SweepSpec();
}

SweepGrid TiedGrid(const std::string& rest, const std::string& scale = "") {
  return SweepGrid::Create(TiedSweep(rest, scale)).value();
}

// What `number` of each point is.
template <typename Number>
std::vector<double> OfPoints(const SweepGrid& grid, const Number& number) {
  std::vector<double> numbers;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1))
    numbers.push_back(number(grid.At(*index).value().spec));
  return numbers;
}

std::string ErrorOfTied(const std::string& rest, const std::vector<std::string>& overrides = {}) {
  return MessageOf(ReadSweepText(kTiedHead + rest, "t.yaml", overrides).status());
}

constexpr char kWidths[] = "axes: [{field: model.bert.hidden_size, values: [64, 128]}]\n";
const auto kFfnSize = [](const v1::TrialSpec& spec) { return spec.model().bert().ffn_size(); };

TEST(TiedSweepTest, AFieldFollowsFromThePointsOwn) {
  const SweepGrid grid =
      TiedGrid(std::string(kWidths) + "tied: {model.bert.ffn_size: 4 * model.bert.hidden_size}");
  EXPECT_THAT(OfPoints(grid, kFfnSize), ElementsAre(256, 512));
  // It is no axis: the points have the labels that they have without it.
  EXPECT_THAT(AllPoints(grid), ElementsAre("hidden_size=64", "hidden_size=128"));
}

TEST(TiedSweepTest, BasePatchesAndDefaultsAreRead) {
  const SweepGrid grid = TiedGrid(
      "axes: [{field: training.gradient_accumulation, values: [1, 2]}]\n"
      "tied: {training.checkpoint_every: 'max(training.steps / training.gradient_accumulation, "
      "training.batch_size)'}");
  EXPECT_EQ(v1::TrialSpec().training().batch_size(), 32u);
  EXPECT_THAT(OfPoints(grid, [](const v1::TrialSpec& spec) { return spec.training().checkpoint_every(); }),
              ElementsAre(2000, 1000));
}

TEST(TiedSweepTest, TiesOfTiesAreFollowedInTheirOrder) {
  const SweepGrid grid = TiedGrid(std::string(kWidths) +
                                  "tied:\n"
                                  "  data.text.sequence_length: model.bert.ffn_size / 4\n"
                                  "  model.bert.ffn_size: model.bert.heads * 64\n"
                                  "  model.bert.heads: model.bert.hidden_size / 32\n");
  EXPECT_THAT(OfPoints(grid, kFfnSize), ElementsAre(128, 256));
  EXPECT_THAT(OfPoints(grid, [](const v1::TrialSpec& spec) { return spec.data().text().sequence_length(); }),
              ElementsAre(32, 64));
}

// So that the trial is the one that names the number, with its fingerprint.
TEST(TiedSweepTest, ResultsHaveFifteenDigits) {
  const SweepGrid grid =
      TiedGrid("axes: [{field: dropout, values: [0.1]}]\ntied: {training.label_smoothing: 3 * dropout}");
  const SweepGrid plain =
      TiedGrid("axes: [{field: dropout, values: [0.1]}, {field: training.label_smoothing, values: [0.3]}]");
  EXPECT_NE(3 * 0.1, 0.3);
  EXPECT_EQ(TrainFingerprint(Resolve(grid.At(0)->spec).value()),
            TrainFingerprint(Resolve(plain.At(0)->spec).value()));
}

// A tie does not choose: it holds where the point has its group.
TEST(TiedSweepTest, ATieHoldsWhereItsGroupIsChosen) {
  const SweepGrid grid = TiedGrid(
      "axes:\n"
      "  - {name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: "
      "{attention.softmax.clipped: {}}}]}\n"
      "  - {field: data.text.sequence_length, values: [32, 64]}\n"
      "tied: {attention.softmax.clipped.gamma: -4 / data.text.sequence_length}");
  EXPECT_THAT(
      OfPoints(grid, [](const v1::TrialSpec& spec) { return spec.attention().softmax().clipped().gamma(); }),
      ElementsAre(0, 0, -0.125, -0.0625));
  EXPECT_FALSE(grid.At(0)->spec.attention().softmax().has_clipped());
  EXPECT_THAT(
      ErrorOfTied("axes: [{field: dropout, values: [0]}]\ntied: {attention.softmax.clipped.gamma: -dropout}"),
      HasSubstr(
          "t.yaml:4:8: tied.attention.softmax.clipped.gamma: no point chooses clipped, and a tie does not; "
          "choose it in base or in an axis"));
}

TEST(TiedSweepTest, SamplesAreTied) {
  const SweepGrid grid = TiedGrid(
      "sampling: {sobol: {trials: 32}}\n"
      "axes:\n"
      "  - {field: model.bert.hidden_size, range: {min: 32, max: 256, step: 32}}\n"
      "  - {field: training.optimizer.adamw.learning_rate, normal: {mean: -7, std: 1, log: true, max: 1}}\n"
      "tied:\n"
      "  model.bert.ffn_size: 4 * model.bert.hidden_size\n"
      "  training.optimizer.adamw.weight_decay: training.optimizer.adamw.learning_rate / 10\n");
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const v1::TrialSpec spec = grid.At(*index)->spec;
    EXPECT_EQ(spec.model().bert().ffn_size(), 4 * spec.model().bert().hidden_size());
    const v1::AdamWSpec& adam = spec.training().optimizer().adamw();
    EXPECT_NEAR(adam.weight_decay() * 10, adam.learning_rate(), 1e-15);
    EXPECT_TRUE(ResolveAndValidate(spec).ok());
  }
}

// Values that are no sample's are not tied: half of an odd number is no whole one, and only the ends are odd.
TEST(TiedSweepTest, OnlySamplesAreChecked) {
  const std::string axes =
      "axes: [{field: training.gradient_accumulation, range: {min: 1, max: 1001}}]\n"
      "tied: {training.batch_size: training.gradient_accumulation / 2}";
  EXPECT_THAT(ErrorOfTied("sampling: {random: {trials: 4, seed: 1}}\n" + axes),
              HasSubstr("t.yaml:5:8: tied.training.batch_size: training.gradient_accumulation / 2 with "
                        "training.gradient_accumulation="));
  // Of a search, whose points are not known yet, one in the middle is looked at.
  EXPECT_THAT(
      ErrorOfTied("sampling: {optuna: {trials: 4, objectives: [{measurement: perplexity}]}}\n" + axes),
      HasSubstr("training.gradient_accumulation / 2 with training.gradient_accumulation=501"));
}

TEST(TiedSweepTest, TiesHoldAtEveryScale) {
  const std::string text =
      "axes: [{field: model.bert.hidden_size, values: [128, 256]}]\n"
      "tied: {model.bert.ffn_size: training.batch_size * model.bert.hidden_size}\n"
      "scales:\n"
      "  small: {base: {training: {batch_size: 2}}, axes: [{field: model.bert.hidden_size, values: [32]}]}\n"
      "  wrong: {axes: [{field: model.bert.ffn_size, values: [32]}]}\n";
  EXPECT_THAT(OfPoints(TiedGrid(text), kFfnSize), ElementsAre(4096, 8192));
  EXPECT_THAT(OfPoints(TiedGrid(text, "small"), kFfnSize), ElementsAre(64));
  EXPECT_THAT(
      MessageOf(ReadSweepText(kTiedHead + text, "t.yaml", {}, "wrong").status()),
      HasSubstr(
          "t.yaml:7:56: scales.wrong.axes[0].values[0]: decides model.bert.ffn_size, which is tied; leave it "
          "out here or in tied"));
}

TEST(TiedSweepTest, AnEditKeepsTies) {
  const std::string tied = "tied: {model.bert.ffn_size: 4 * model.bert.hidden_size}";
  const auto edit = [](const std::string& before, const std::string& after) {
    const v1::SweepSpec from = TiedSweep(before), to = TiedSweep(after);
    return SweepEdit::Create(from, *SweepGrid::Create(from), to, *SweepGrid::Create(to));
  };
  const auto grown =
      edit(kWidths + tied, "axes: [{field: model.bert.hidden_size, values: [64, 128, 256]}]\n" + tied);
  ASSERT_TRUE(grown.ok()) << grown.status();
  EXPECT_EQ(grown->NewIndex(1), 1u);
  EXPECT_THAT(OfPoints(grown->to(), kFfnSize), ElementsAre(256, 512, 1024));
  for (const std::string& other :
       {std::string(), std::string("tied: {model.bert.ffn_size: 2 * model.bert.hidden_size}")}) {
    EXPECT_EQ(MessageOf(edit(kWidths + tied, kWidths + other).status()),
              "tied: it decides every trial and cannot be edited; submit a sweep of its own (what is already "
              "trained is not "
              "trained again)");
  }
}

// As of an axis whose values set the same: the points are there, and train once.
TEST(TiedSweepTest, PointsThatBecomeTheSameAreTwoPointsOfOneTraining) {
  const SweepGrid grid = TiedGrid(
      "axes: [{field: training.measure_every, values: [10, 20]}]\ntied: {training.batch_size: "
      "'min(training.measure_every, 8)'}");
  EXPECT_EQ(grid.kept(), 2u);
  EXPECT_EQ(TrainFingerprint(Resolve(grid.At(0)->spec).value()),
            TrainFingerprint(Resolve(grid.At(1)->spec).value()));
}

TEST(TiedSweepTest, ParametersOfAProgramAreTied) {
  const ProgramFolder folder;
  const std::string file = (folder.path() / "s.yaml").string();
  const std::string head =
      "name: s\nprogram: mygpt\nbase: {data: wiki}\naxes: [{field: layers, values: [2, 4]}]\n";
  const auto sweep =
      ReadSweepText(head + "tied: {optimizer.momentum: 1 - lr * 1000, lr: 1e-3 / layers}", file);
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  const SweepGrid grid = SweepGrid::Create(*sweep).value();
  std::vector<std::string> parameters;
  for (const std::uint64_t index : {0, 1}) {
    v1::TrialSpec trial = grid.At(index)->spec;
    EXPECT_EQ(grid.form().Resolve(&trial), absl::OkStatus());
    parameters.push_back(ResolvedPartJson(trial, v1::TRAIN_STAGE));
  }
  EXPECT_THAT(parameters[0], HasSubstr("\"layers\":2,\"lr\":5e-4,\"optimizer.momentum\":0.5,"));
  EXPECT_THAT(parameters[1], HasSubstr("\"layers\":4,\"lr\":0.00025,\"optimizer.momentum\":0.75,"));
  const auto error = [&](const std::string& rest) {
    return MessageOf(ReadSweepText(head + rest, file).status());
  };
  EXPECT_THAT(
      error("tied: {optimizer.momentums: lr}"),
      HasSubstr(":5:8: tied.optimizer.momentums: unknown field; did you mean \"optimizer.momentum\"?"));
  EXPECT_THAT(error("tied: {lr: layers}"),
              HasSubstr(":5:8: tied.lr: layers with layers=2: 2 is out of range: give a number "
                        "above 0 and at most 1 (in the trial layers=2)"));
  EXPECT_THAT(error("tied: {layers: 2 * bits}"),
              HasSubstr(":4:33: axes[0].values[0]: decides layers, which is tied"));
  EXPECT_THAT(error("tied: {lr: optimizer.name}"),
              HasSubstr(":5:8: tied.lr: optimizer.name: is not a number"));
}

TEST(TiedSweepTest, WhatATieCannotBeIsToldWithPlaceAndRemedy) {
  const auto error = [](const std::string& tied) { return ErrorOfTied(kWidths + ("tied: {" + tied + "}")); };
  EXPECT_THAT(
      error("model.bert.fnn_size: 4 * model.bert.hidden_size"),
      HasSubstr(
          "t.yaml:4:8: tied.model.bert.fnn_size: unknown field; did you mean \"model.bert.ffn_size\"?"));
  EXPECT_THAT(
      error("model.bert.ffn_size: 4 * model.bert.hiden_size"),
      HasSubstr("t.yaml:4:8: tied.model.bert.ffn_size: model.bert.hiden_size: unknown field; did you mean "
                "\"model.bert.hidden_size\"?"));
  EXPECT_THAT(error("model.bert.ffn_size: 4 * seed *"),
              HasSubstr("tied.model.bert.ffn_size: \"4 * seed *\" is not an "
                        "expression: Unexpected end of expression"));
  EXPECT_THAT(
      error("model.bert.ffn_size: 512"),
      HasSubstr(
          "tied.model.bert.ffn_size: uses no field and is the same at all points; put the value into base"));
  EXPECT_THAT(error("data.text.corpus: seed"), HasSubstr("tied.data.text.corpus: is not a number"));
  EXPECT_THAT(error("model.bert.ffn_size: training.precision"),
              HasSubstr("tied.model.bert.ffn_size: training.precision: is not a number"));
  EXPECT_THAT(error("attention.softmax.clipped.alpha: seed, attention.softmax.clipped.gamma: -seed"),
              HasSubstr("tied.attention.softmax.clipped.gamma: is of one choice with "
                        "attention.softmax.clipped.alpha; tie one of them"));
  EXPECT_THAT(error("model.bert: seed"), HasSubstr("tied.model.bert: is not a number"));
  EXPECT_THAT(error("model.bert.hidden_size: 64 * seed"),
              HasSubstr("t.yaml:3:49: axes[0].values[0]: decides model.bert.hidden_size, which is tied; "
                        "leave it out here or "
                        "in tied"));
  EXPECT_THAT(
      error("training.steps: 100 * seed"),
      HasSubstr(
          "t.yaml:2:79: base.training.steps: is tied, so that base cannot decide it; leave it out here or in "
          "tied"));
  EXPECT_THAT(error("training.epochs: 100 * seed"), HasSubstr("base.training.epochs: is tied"));
  EXPECT_THAT(
      ErrorOfTied(
          "axes: [{name: m, variants: [{label: a, set: {dropout: 0}}, {label: b, set: {training.batch_size: "
          "2}}]}]\ntied: {training.batch_size: seed}"),
      HasSubstr("t.yaml:3:60: axes[0].variants[1]: decides training.batch_size, which is tied"));
  EXPECT_THAT(
      ErrorOfTied(
          "axes: [{zip: [seed, dropout], values: [[1, 0], [2, 0.1]]}]\ntied: {dropout: training.steps}"),
      HasSubstr("axes[0].values[0]: decides dropout, which is tied"));
  EXPECT_THAT(ErrorOfTied("tied: {seed: training.batch_size}", {"seed=3"}),
              HasSubstr("--set seed=3: the sweep ties seed to other parameters; change tied in the file"));
}

TEST(TiedSweepTest, CyclesAreTold) {
  const auto error = [](const std::string& tied) { return ErrorOfTied("tied: {" + tied + "}"); };
  EXPECT_THAT(error("seed: seed + 1"), HasSubstr("t.yaml:3:8: tied.seed: follows from itself: seed uses "
                                                 "seed; leave out one of these ties and give its "
                                                 "field a value"));
  EXPECT_THAT(
      error("seed: dropout, dropout: training.batch_size, training.batch_size: dropout + training.steps"),
      HasSubstr("tied.dropout: follows from itself: dropout uses training.batch_size uses dropout;"));
}

TEST(TiedSweepTest, WhatAPointCannotHaveIsToldWithItsNumbers) {
  const auto error = [](const std::string& tied) { return ErrorOfTied(kWidths + ("tied: {" + tied + "}")); };
  EXPECT_THAT(
      error("model.bert.ffn_size: model.bert.hidden_size / 3"),
      HasSubstr(
          "t.yaml:4:8: tied.model.bert.ffn_size: model.bert.hidden_size / 3 with model.bert.hidden_size=64: "
          "21.3333333333333 is not a whole number, and the field takes no others; put the expression into "
          "round(), floor() or ceil() (in the trial hidden_size=64)"));
  EXPECT_THAT(error("dropout: 1 / (model.bert.hidden_size - 128)"),
              HasSubstr("model.bert.hidden_size=64: -0.015625 is out of range: give a number"));
  EXPECT_THAT(error("training.gradient_clip_norm: '1 / max(0, model.bert.hidden_size - 64)'"),
              HasSubstr("with model.bert.hidden_size=64: Infinity is not finite; change the expression or "
                        "the values it uses "
                        "(in the trial hidden_size=64)"));
  EXPECT_THAT(error("training.gradient_clip_norm: log(dropout - model.bert.hidden_size)"),
              HasSubstr(": NaN is not finite"));
  EXPECT_THAT(error("model.bert.ffn_size: 1e9 * model.bert.hidden_size"),
              HasSubstr("64000000000 is out of range: give a whole number from"));
  // What a preset gives is not there yet.
  EXPECT_THAT(
      error("model.bert.ffn_size: 4 * model.bert.heads"),
      HasSubstr(
          "tied.model.bert.ffn_size: model.bert.heads has no value there (what a preset or the data decides "
          "comes later); give it in base or in an axis (in the trial hidden_size=64)"));
  EXPECT_THAT(error("dropout: 1 + attention.softmax.clipped.zeta"),
              HasSubstr("attention.softmax.clipped.zeta is of a choice that is not made there; give it"));
  // The rules of trials hold for tied fields, at the tie.
  EXPECT_THAT(error("model.bert.heads: round(model.bert.hidden_size / 10)"),
              HasSubstr("t.yaml:4:8: tied.model.bert.heads: "));
}

// The second point alone is wrong, and only together: no axis alone shows it.
TEST(TiedSweepTest, PointsAreCheckedNotValuesAlone) {
  EXPECT_THAT(
      ErrorOfTied("axes: [{field: seed, values: [1, 2]}, {field: training.batch_size, values: [1, 3, 2]}]\n"
                  "tied: {training.gradient_accumulation: 6 / (training.batch_size * seed)}"),
      HasSubstr("1.5 is not a whole number, and the field takes no others; put the expression into round(), "
                "floor() or "
                "ceil() (in the trial seed=2, batch_size=2)"));
}

TEST(TiedSweepTest, TheirSizeIsLimited) {
  v1::SweepSpec sweep = TiedSweep(std::string(kWidths));
  std::string sum = "seed";
  while (sum.size() <= Limits::kTieBytesMax) sum += " + seed";
  (*sweep.mutable_tied())["model.bert.ffn_size"] = sum;
  EXPECT_THAT(MessageOf(SweepGrid::Create(sweep).status()),
              HasSubstr("tied.model.bert.ffn_size: 1026 bytes are more than 1024; shorten the expression"));
  std::string fields = "f0";
  for (int i = 1; i < 17; ++i) fields += " + f" + std::to_string(i);
  (*sweep.mutable_tied())["model.bert.ffn_size"] = fields;
  EXPECT_THAT(
      MessageOf(SweepGrid::Create(sweep).status()),
      HasSubstr(
          "tied.model.bert.ffn_size: uses 17 fields, more than 16; tie a part of it to a field of its own"));
  for (int i = 0; i < Limits::kTiesMax; ++i) (*sweep.mutable_tied())["no.field" + std::to_string(i)] = "seed";
  EXPECT_THAT(MessageOf(SweepGrid::Create(sweep).status()),
              HasSubstr("tied: 33 ties are more than 32; put what is the same"));
}

}  // namespace
}  // namespace inlier
