// Figures of a sweep: what can be drawn is accepted, and every mistake is named with its line and a remedy.
#include "spec/sweep/figure_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

using testing::HasSubstr;

constexpr char kSweepWithFigures[] = R"(name: s
base:
  model: {bert: {layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 300}}}}
  training: {steps: 10}
axes:
- {field: attention.softmax.clipped.gamma, values: [-0.01, -0.03]}
- {field: seed, values: [1, 2]}
)";

std::string ErrorOfFigures(const std::string& figures) {
  const auto sweep = ReadSweepText(std::string(kSweepWithFigures) + "figures:\n" + figures, "s.yaml");
  return sweep.ok() ? "OK" : std::string(sweep.status().message());
}

TEST(FigureChecksTest, EveryKindIsAccepted) {
  EXPECT_EQ(ErrorOfFigures(R"(
- {kind: CURVES, y: train_loss, series: [gamma], where: {seed: [1, 2]}, log_x: true, log_y: true}
- {kind: CURVES, y: max_inf_norm, name: norms}
- {kind: AGAINST, x: gamma, y: max_inf_norm}
- {kind: AGAINST, x: layers, y: perplexity, series: [seed]}
- {kind: BARS, y: train_loss, title: "a: b"}
- {kind: HEAT_MAP, x: gamma, by: seed, y: avg_kurtosis, log_y: true}
- {kind: SCATTER, x: max_inf_norm, y: perplexity}
- {kind: DIMENSIONS, where: {gamma: -0.01}}
- {kind: TOKENS, trial: t-3}
- {kind: ATTENTION, layer: 1, head: 1, width_mm: 90, height_mm: 90}
- {kind: OUTLIER_DIMENSIONS}
- {kind: OUTLIER_POSITIONS, trial: t-3}
)"),
            "OK");
}

TEST(FigureChecksTest, NamesAreThoseOfTheSweep) {
  EXPECT_EQ(ErrorOfFigures("- {kind: BARS, y: perplexty}\n"),
            "s.yaml:10:16: figures[0].y: \"perplexty\" is not a measurement; did you mean \"perplexity\"?");
  EXPECT_EQ(ErrorOfFigures("- kind: AGAINST\n  x: gama\n  y: perplexity\n"),
            "s.yaml:11:3: figures[0].x: \"gama\" is neither an axis of this sweep nor a column of trials; "
            "did you mean "
            "\"gamma\"?");
  EXPECT_EQ(
      ErrorOfFigures("- {kind: BARS, y: perplexity, series: [gamma, sed], where: {seed: 3, methd: x}}\n"),
      "s.yaml:10:70: figures[0].where.methd: \"methd\" is neither an axis of this sweep nor a column "
      "of trials\n"
      "s.yaml:10:61: figures[0].where.seed: \"3\" is not a label of axis seed; known: 1, 2\n"
      "s.yaml:10:47: figures[0].series[1]: \"sed\" is neither an axis of this sweep nor a column of "
      "trials; did you mean \"seed\"?");
  EXPECT_THAT(ErrorOfFigures("- {kind: CURVS, y: train_loss}\n"), HasSubstr("s.yaml:10:10: figures[0].kind"));
}

TEST(FigureChecksTest, AMeasurementFitsTheKind) {
  EXPECT_EQ(ErrorOfFigures("- {kind: CURVES, y: perplexity}\n"),
            "s.yaml:10:18: figures[0].y: \"perplexity\" is not reported while a training runs; give a curve "
            "such as "
            "train_loss");
  EXPECT_THAT(ErrorOfFigures("- {kind: BARS, y: gradient_norm}\n"),
              HasSubstr("is not one final number of a trial"));
  EXPECT_THAT(ErrorOfFigures("- {kind: BARS, y: six_sigma_count}\n"),
              HasSubstr("is not one final number of a trial"));
  EXPECT_THAT(ErrorOfFigures("- {kind: SCATTER, x: gamma, y: perplexity}\n"),
              HasSubstr("figures[0].x: \"gamma\" is not a measurement"));
}

TEST(FigureChecksTest, FieldsFitTheKind) {
  EXPECT_EQ(ErrorOfFigures("- {kind: AGAINST, y: perplexity}\n"),
            "s.yaml:10:3: figures[0].x: must be given for AGAINST");
  EXPECT_THAT(ErrorOfFigures("- {y: perplexity}\n"), HasSubstr("figures[0].kind"));
  EXPECT_EQ(ErrorOfFigures("- {kind: BARS, y: perplexity, x: gamma}\n"),
            "s.yaml:10:31: figures[0].x: has no meaning for BARS; leave it out");
  EXPECT_THAT(ErrorOfFigures("- {kind: HEAT_MAP, x: gamma, y: loss}\n"),
              HasSubstr("figures[0].by: must be given for HEAT_MAP"));
  EXPECT_THAT(ErrorOfFigures("- {kind: CURVES, y: train_loss, trial: t-1}\n"),
              HasSubstr("figures[0].trial: has no meaning"));
  EXPECT_THAT(ErrorOfFigures("- {kind: TOKENS, layer: 1}\n"),
              HasSubstr("figures[0].layer: has no meaning for TOKENS"));
  EXPECT_THAT(ErrorOfFigures("- {kind: BARS, y: loss, log_x: true}\n"),
              HasSubstr("figures[0].log_x: has no meaning for BARS"));
  EXPECT_THAT(ErrorOfFigures("- {kind: BARS, y: loss, width_mm: 5}\n"),
              HasSubstr("figures[0].width_mm: 5 is out of range"));
}

TEST(FigureChecksTest, NamesAreThoseOfFiles) {
  EXPECT_THAT(ErrorOfFigures("- {kind: BARS, y: loss, name: ../../etc/x}\n"),
              HasSubstr("s.yaml:10:25: figures[0].name: \"../../etc/x\" cannot name a file"));
  EXPECT_THAT(ErrorOfFigures("- {kind: BARS, y: loss, name: -o}\n"), HasSubstr("cannot name a file"));
  EXPECT_EQ(ErrorOfFigures("- {kind: BARS, y: loss, name: a}\n- {kind: BARS, y: loss, name: a}\n"),
            "s.yaml:11:25: figures[1].name: \"a\" is the name of figures[0] too; give another one");
}

TEST(FigureChecksTest, TheirNumberAndSizeAreLimited) {
  std::string many;
  for (int i = 0; i <= kFiguresMax; ++i) many += "- {kind: BARS, y: loss}\n";
  EXPECT_THAT(ErrorOfFigures(many), HasSubstr("figures: has 33; give at most 32"));
  std::string values;
  for (int i = 0; i < kFigureConditionsMax; ++i) values += "1, ";
  EXPECT_THAT(ErrorOfFigures("- {kind: BARS, y: loss, where: {seed: [" + values + "1]}}\n"),
              HasSubstr("figures[0].where: has 34 names and values; give at most 32"));
}

TEST(FigureChecksTest, AScaleHasFiguresOfItsOwn) {
  const std::string text =
      std::string(kSweepWithFigures) +
      "figures:\n- {kind: BARS, y: loss, name: large}\nscales:\n  small:\n    axes:\n"
      "    - {field: seed, values: [1]}\n    figures:\n    - {kind: BARS, y: perplexity, where: {seed: "
      "2}}\n  other: {description: x}\n";
  EXPECT_EQ(ReadSweepText(text, "s.yaml", {}, "other")->figures(0).name(), "large");
  EXPECT_THAT(
      std::string(ReadSweepText(text, "s.yaml", {}, "small").status().message()),
      HasSubstr("s.yaml:16:43: scales.small.figures[0].where.seed: \"2\" is not a label of axis seed"));
}

TEST(FigureChecksTest, TheNameOfAFigureOfALongSweepIsOneOfAFile) {
  v1::SweepSpec sweep = *ReadSweepText(kSweepWithFigures, "s.yaml");
  const SweepGrid grid = *SweepGrid::Create(sweep);
  v1::FigureSpec figure;
  figure.set_kind(v1::FigureSpec::CURVES);
  figure.set_y("train_loss");
  for (const std::string& name :
       {std::string("s"), std::string(100, 'a'), std::string("-x"), std::string("..")}) {
    sweep.set_name(name);
    figure.set_name(FigureNameOf(sweep, "-curves"));
    Problems problems;
    CheckFigure(figure, grid, "", &problems);
    EXPECT_TRUE(problems.empty()) << name;
  }
  EXPECT_EQ(figure.name(), "_.-curves");
}

}  // namespace
}  // namespace inlier
