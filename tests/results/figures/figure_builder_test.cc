// The numbers of figures: means as tables have them, shared results once, series and levels by the axes.
#include "results/figures/figure_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/plots/figure_csv.h"
#include "results/figures/figure_ends.h"
#include "results/figures/model_figure.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/spec/program/program_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr char kSweep[] = R"(name: s
base:
  model: {bert: {layers: 2, hidden_size: 32, heads: 2, ffn_size: 64}}
  data: {text: {corpus: kjv, tokenizer: {byte_pair: {vocab_size: 300}}}}
  training: {steps: 10}
axes:
- name: method
  variants:
  - {label: vanilla, set: {}}
  - {label: gamma 1, set: {attention: {softmax: {clipped: {gamma: -0.01}}}}}
  - {label: gamma 3, set: {attention: {softmax: {clipped: {gamma: -0.03}}}}}
- {field: seed, values: [1, 2]}
- name: bits
  variants:
  - {label: float, set: {}}
  - {label: W8A8, set: {quantization: {weights: {bits: 8}}}}
)";

class FigureBuilderTest : public testing::Test {
 protected:
  // A training for each method and seed, and two evaluations of it; the values grow with the place in the grid.
  FigureBuilderTest() : grid_(*SweepGrid::Create(*ReadSweepText(kSweep, "s.yaml"))) {
    const char* methods[] = {"vanilla", "gamma 1", "gamma 3"};
    const char* gammas[] = {"", "-0.01", "-0.03"};
    int id = 0;
    for (int method = 0; method < 3; ++method) {
      for (int seed = 1; seed <= 2; ++seed) {
        for (const char* bits : {"float", "W8A8"}) {
          PlotTrial& trial = trials_.emplace_back();
          trial.id = "t-" + std::to_string(++id);
          trial.state = "SUCCEEDED";
          trial.train_stage = "st-" + std::to_string(method * 10 + seed);
          trial.evaluate_stage = trial.train_stage + bits;
          trial.labels = {{"method", methods[method]}, {"seed", std::to_string(seed)}, {"bits", bits}};
          trial.columns = {{"gamma", gammas[method]}};
          trial.measurements = {static_cast<double>(id), 100.0 - id};
        }
      }
    }
  }

  absl::StatusOr<Figure> Build(v1::FigureSpec::Kind kind, const std::string& x, const std::string& y,
                               const std::vector<std::string>& series = {}) {
    spec_.set_kind(kind);
    if (!x.empty()) spec_.set_x(x);
    spec_.set_y(y);
    for (const std::string& name : series) spec_.add_series(name);
    return BuildFigure(spec_, grid_, trials_, [this](const std::vector<std::string>& trials) {
      asked_ = trials;
      return absl::StatusOr<std::map<std::string, Curve>>(curves_);
    });
  }

  v1::FigureSpec spec_;
  const SweepGrid grid_;
  std::vector<PlotTrial> trials_;
  std::map<std::string, Curve> curves_;
  std::vector<std::string> asked_;
};

std::vector<std::string> NamesOf(const Figure& figure) {
  std::vector<std::string> names;
  for (const FigureSeries& series : figure.series) names.push_back(SeriesName(series));
  return names;
}

TEST_F(FigureBuilderTest, ATrainingIsOneCurveHoweverManyTrialsShareIt) {
  curves_ = {{"t-1", {{1, 5}, {10, 4}}}, {"t-3", {{1, 7}, {10, 3}, {20, 2}}}, {"t-5", {{1, 6}}}};
  const auto figure = Build(v1::FigureSpec::CURVES, "", "train_loss").value();
  // One trial of each training is asked for, and bits, which change no training, make no series.
  EXPECT_THAT(asked_, ElementsAre("t-1", "t-3", "t-5", "t-7", "t-9", "t-11"));
  EXPECT_THAT(figure.series_headings, ElementsAre("method"));
  EXPECT_THAT(NamesOf(figure), ElementsAre("vanilla", "gamma 1"));
  const std::vector<FigurePoint>& vanilla = figure.series[0].points;
  ASSERT_EQ(vanilla.size(), 3u);
  EXPECT_EQ(vanilla[0].y.mean, 6);
  EXPECT_EQ(vanilla[0].y.n, 2u);
  EXPECT_DOUBLE_EQ(vanilla[0].y.std, std::sqrt(2.0));
  EXPECT_EQ(vanilla[2].x, 20);
  EXPECT_EQ(vanilla[2].y.mean, 2);
  EXPECT_EQ(vanilla[2].y.n, 1u);
  EXPECT_THAT(figure.notes, ElementsAre("mean and standard deviation of 1 to 2 trainings"));
  EXPECT_EQ(figure.y_title, "train_loss (nat)");
  EXPECT_EQ(FigureCsv(figure).substr(0, 55), "method,step,train_loss mean,std,n,min,max\r\nvanilla,1,6,");
}

TEST_F(FigureBuilderTest, LongCurvesAreThinnedWithANote) {
  for (int step = 0; step < 2500; ++step) curves_["t-1"].emplace_back(step, 1);
  const auto figure = Build(v1::FigureSpec::CURVES, "", "train_loss").value();
  EXPECT_LE(figure.series[0].points.size(), 1001u);
  EXPECT_EQ(figure.series[0].points.front().x, 0);
  EXPECT_EQ(figure.series[0].points.back().x, 2499);
  EXPECT_THAT(figure.notes, testing::Contains("one point in 3 is drawn"));
}

// A number of a column, and the label of an axis of numbers, in another spelling.
TEST_F(FigureBuilderTest, ConditionsAreFoundInAnySpellingOfTheNumber) {
  (*spec_.mutable_where())["gamma"] = WrittenValue("-1e-2");
  (*spec_.mutable_where())["seed"] = WrittenValue("2.0");
  const auto matching = MatchingTrials(spec_, grid_, trials_);
  ASSERT_EQ(matching.size(), 2u);
  EXPECT_EQ(matching[0]->id, "t-7");
  EXPECT_EQ(matching[1]->id, "t-8");
}

TEST_F(FigureBuilderTest, AgainstAColumnVanillaIsALevelAndTheDecidedAxisNoSeries) {
  (*spec_.mutable_where())["bits"].set_string_value("float");
  const auto figure = Build(v1::FigureSpec::AGAINST, "gamma", "max_inf_norm").value();
  EXPECT_THAT(figure.series_headings, IsEmpty());
  ASSERT_EQ(figure.series.size(), 2u);
  const std::vector<FigurePoint>& points = figure.series[0].points;
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].x, -0.03);
  EXPECT_EQ(points[0].y.mean, 10);  // t-9 and t-11.
  EXPECT_EQ(points[1].y.mean, 6);
  EXPECT_TRUE(figure.series[1].level);
  EXPECT_EQ(SeriesName(figure.series[1]), "vanilla");
  EXPECT_EQ(figure.series[1].points[0].y.mean, 2);
  EXPECT_EQ(figure.x_title, "gamma (γ)");
  EXPECT_EQ(FigureCsv(figure),
            "gamma,max_inf_norm mean,std,n,min,max\r\n"
            "-0.03,10,1.4142135623730951,2,9,11\r\n"
            "-0.01,6,1.4142135623730951,2,5,7\r\n"
            ",2,1.4142135623730951,2,1,3\r\n");
}

TEST_F(FigureBuilderTest, AgainstNeedsNumbersAndALogarithmNumbersAboveZero) {
  EXPECT_THAT(std::string(Build(v1::FigureSpec::AGAINST, "method", "loss").status().message()),
              HasSubstr("x: method has \"vanilla\", which is not a number"));
  spec_.set_log_x(true);
  EXPECT_THAT(std::string(Build(v1::FigureSpec::AGAINST, "gamma", "loss").status().message()),
              HasSubstr("log_x: gamma has -0.03, which has no logarithm"));
}

TEST_F(FigureBuilderTest, BarsCountASharedResultOnce) {
  PlotTrial twice = trials_[0];
  twice.id = "t-99";
  trials_.push_back(twice);
  const auto figure = Build(v1::FigureSpec::BARS, "", "perplexity").value();
  EXPECT_THAT(NamesOf(figure), ElementsAre("vanilla, float", "vanilla, W8A8", "gamma 1, float",
                                           "gamma 1, W8A8", "gamma 3, float", "gamma 3, W8A8"));
  EXPECT_EQ(figure.series[0].points[0].y.n, 2u);
  EXPECT_EQ(figure.series[0].points[0].y.mean, 2);
  EXPECT_THAT(figure.notes, ElementsAre("mean and standard deviation, n = 2"));
}

TEST_F(FigureBuilderTest, WhatIsNotDrawnIsCounted) {
  trials_[0].state = "DIVERGED";
  trials_[0].measurements = {kNone, kNone};
  trials_[4].state = "FAILED";
  trials_[4].measurements = {kNone, kNone};
  const auto figure = Build(v1::FigureSpec::BARS, "", "perplexity", {"method"}).value();
  // Float and W8A8 of a training are averaged.
  EXPECT_EQ(figure.series[0].points[0].y.n, 2u);
  EXPECT_THAT(figure.notes, ElementsAre("mean and standard deviation, n = 2",
                                        "of a training the mean over its evaluations, up to 2",
                                        "1 diverged, not drawn", "1 without a result, not drawn"));
  for (PlotTrial& trial : trials_) trial.measurements = {kNone, kNone};
  EXPECT_EQ(Build(v1::FigureSpec::BARS, "", "perplexity").status().message(),
            "no trial has a result with perplexity: those that ended did not measure it; "
            "docs/reference/measurements.md "
            "lists its needs");
  for (PlotTrial& trial : trials_) trial.state = "PENDING";
  EXPECT_EQ(Build(v1::FigureSpec::BARS, "", "perplexity").status().message(),
            "no trial has a result with perplexity yet");
}

TEST_F(FigureBuilderTest, AHeatMapHasTheLabelsOfItsAxesAndEmptyCells) {
  trials_.erase(trials_.begin() + 8, trials_.end());  // Without gamma 3.
  trials_[3].measurements = {kNone, kNone};           // vanilla, W8A8, seed 2.
  trials_[1].measurements = {kNone, kNone};
  spec_.set_by("bits");
  const auto figure = Build(v1::FigureSpec::HEAT_MAP, "method", "perplexity").value();
  EXPECT_THAT(figure.columns, ElementsAre("vanilla", "gamma 1"));
  EXPECT_THAT(figure.rows, ElementsAre("float", "W8A8"));
  EXPECT_EQ(figure.cells[0][0].mean, 2);
  EXPECT_EQ(figure.cells[1][0].n, 0u);
  EXPECT_EQ(figure.cells[1][1].mean, 7);
  EXPECT_THAT(figure.notes, testing::Contains("grey: no result"));
  EXPECT_EQ(FigureCsv(figure).substr(0, 40), "method,bits,perplexity mean,std,n,min,ma");
}

// vanilla: trainings of t-1, t-2 and t-3, t-4, with means 1.5 and 3.5 and within them the deviation sqrt(0.5).
TEST_F(FigureBuilderTest, DeviationIsOverTrainingsOfTheMeanOverEvaluations) {
  const auto figure = Build(v1::FigureSpec::BARS, "", "perplexity", {"method"}).value();
  const Summary& vanilla = figure.series[0].points[0].y;
  EXPECT_EQ(vanilla.n, 2u);
  EXPECT_EQ(vanilla.evaluations, 2u);
  EXPECT_EQ(vanilla.mean, 2.5);
  EXPECT_DOUBLE_EQ(vanilla.std, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(vanilla.within_std, std::sqrt(0.5));
  EXPECT_EQ(vanilla.min, 1.5);
  EXPECT_THAT(figure.notes, ElementsAre("mean and standard deviation, n = 2",
                                        "of a training the mean over its evaluations, up to 2"));
  EXPECT_EQ(FigureCsv(figure).substr(0, 124),
            "method,perplexity mean,std,n,min,max,evaluations,within std\r\n"
            "vanilla,2.5,1.4142135623730951,2,1.5,3.5,2,0.7071067811865476\r\n");
}

TEST_F(FigureBuilderTest, AScatterHasAPointATrainingAndTheirRankCorrelation) {
  const auto figure = Build(v1::FigureSpec::SCATTER, "max_inf_norm", "perplexity", {"method"}).value();
  EXPECT_EQ(figure.series.size(), 3u);
  ASSERT_EQ(figure.series[0].points.size(), 2u);
  EXPECT_EQ(figure.series[0].points[0].x, 98.5);
  EXPECT_EQ(figure.series[0].points[0].y.mean, 1.5);
  EXPECT_THAT(figure.notes, ElementsAre("Spearman's ρ = -1.000, n = 6",
                                        "of a training the mean over its evaluations, up to 2"));
  EXPECT_EQ(FigureCsv(figure).substr(0, 67),
            "trial,method,max_inf_norm,perplexity\r\nt-1,vanilla,98.5,1.5\r\nt-3,van");
}

TEST_F(FigureBuilderTest, AScatterByBitsHasAPointAnEvaluation) {
  const auto figure = Build(v1::FigureSpec::SCATTER, "max_inf_norm", "perplexity").value();
  EXPECT_THAT(figure.series_headings, ElementsAre("method", "bits"));
  EXPECT_EQ(figure.series[0].points[0].x, 99);
  EXPECT_THAT(figure.notes, ElementsAre("Spearman's ρ = -1.000, n = 12"));
}

TEST_F(FigureBuilderTest, NumbersOfAModelAreAGrid) {
  spec_.set_kind(v1::FigureSpec::ATTENTION);
  const std::string tokens = R"("title":"x","tokens":true,"texts":["a,"," b"]})";
  const auto figure =
      BuildModelFigure(
          spec_, "t-3",
          R"({"of":"layer 1, head 0","value":"probability","rows":{"downwards":true,"name":"query",)" +
              tokens + R"(,"columns":{"name":"key",)" + tokens + R"(,"values":[[1,0],[0.25,null]]})")
          .value();
  EXPECT_THAT(figure.notes, ElementsAre("t-3, layer 1, head 0"));
  EXPECT_TRUE(figure.downwards);
  EXPECT_EQ(FigureCsv(figure),
            "query,query_token,key,token,probability\r\n0,\"a,\",0,\"a,\",1\r\n0,\"a,\",1, b,0\r\n"
            "1, b,0,\"a,\",0.25\r\n1, b,1, b,\r\n");
  spec_.set_kind(v1::FigureSpec::DIMENSIONS);
  const std::string dimensions =
      R"({"of":"over 32 examples","value":"largest magnitude","rows":{"name":"layer","title":"layer","texts":["1"]},)"
      R"("columns":{"name":"dimension","title":"hidden dimension","texts":["0","1"]},"values":[[1,2.5]])";
  const auto by_dimension = BuildModelFigure(spec_, "t-3", dimensions + "}");
  EXPECT_EQ(FigureCsv(*by_dimension), "layer,dimension,largest magnitude\r\n1,0,1\r\n1,1,2.5\r\n");
  EXPECT_EQ(by_dimension->x_title, "hidden dimension");
  EXPECT_FALSE(BuildModelFigure(spec_, "t-3", "no json").ok());
  EXPECT_FALSE(BuildModelFigure(spec_, "t-3", dimensions).ok());
  std::string fewer_names = dimensions + "}";
  fewer_names.replace(fewer_names.find(R"(["0","1"])"), 9, R"(["0"])");
  EXPECT_FALSE(BuildModelFigure(spec_, "t-3", fewer_names).ok());
}

TEST_F(FigureBuilderTest, HeadsAreTilesWithALineBetween) {
  spec_.set_kind(v1::FigureSpec::HEADS);
  const auto figure =
      BuildModelFigure(
          spec_, "t-3",
          R"({"of":"layer 0","value":"probability","rows":{"name":"query","title":"query","texts":["0"]},)"
          R"("columns":{"name":"key","title":"key","texts":["0","1","2"]},"values":[[0.5,null,1]],)"
          R"("tiles":{"count":2,"columns":2,"size":1}})")
          .value();
  EXPECT_EQ(FigureCsv(figure), "head,query,key,probability\r\n0,0,0,0.5\r\n1,0,0,1\r\n");
}

TEST_F(FigureBuilderTest, LayersAreMeansOverTrainingsOfTheirEvaluations) {
  spec_.set_kind(v1::FigureSpec::LAYERS);
  spec_.set_y("inf_norm");
  spec_.add_series("method");
  for (PlotTrial& trial : trials_) trial.measurements.clear();  // None was asked for.
  const auto figure = BuildFigure(spec_, grid_, trials_, [](const std::vector<std::string>& trials) {
                        std::map<std::string, Curve> profiles;
                        for (const std::string& trial : trials) {
                          const double number = std::stod(trial.substr(2));
                          profiles[trial] = {{1, number}, {2, 2 * number}};
                        }
                        return absl::StatusOr<std::map<std::string, Curve>>(profiles);
                      }).value();
  ASSERT_FALSE(figure.series.empty());
  const FigureSeries& first = figure.series[0];
  ASSERT_EQ(first.points.size(), 2u);
  EXPECT_EQ(first.points[0].x, 1);
  EXPECT_EQ(first.points[0].y.mean, 2.5) << "of t-1 and t-2, one training, and of t-3 and t-4";
  EXPECT_EQ(first.points[0].y.n, 2u);
  EXPECT_EQ(first.points[0].y.evaluations, 2u);
  EXPECT_EQ(first.points[1].y.mean, 5);
  EXPECT_EQ(figure.x_heading, "layer");
}

TEST(FigureEndsTest, ShortLogarithmicAxesHaveRoundTics) {
  EXPECT_THAT((Ends{16, 550}).LogTics(), ElementsAre(20, 50, 100, 200, 500));
  EXPECT_THAT((Ends{2.8e-5, 1.1e-4}).LogTics(), ElementsAre(3e-5, 4e-5, 5e-5, 7e-5, 1e-4));
  EXPECT_THAT((Ends{120, 260}).LogTics(), ElementsAre(120, 140, 160, 180, 200, 220, 240, 260));
  EXPECT_THAT((Ends{1, 1000}).LogTics(), IsEmpty());  // gnuplot's own.
  Ends one;
  one.Add(5);
  for (const bool logarithmic : {false, true}) {
    EXPECT_LT(one.WithMargin(logarithmic).low, 5);
    EXPECT_GT(one.WithMargin(logarithmic).high, 5);
  }
  EXPECT_LT((Ends{3, std::nextafter(3.0, 4.0)}).WithMargin(true).LogTics().size(), 21u);
  EXPECT_EQ(RoundStep(128), 20u);
  EXPECT_EQ(RoundStep(768), 100u);
}

TEST(ProgramFigureTest, AxesAndMeasurementsAreThoseOfItsDescription) {
  const ProgramFolder folder;
  const SweepGrid grid = SweepGrid::Create(ReadSweepText("name: s\nprogram: mygpt\nbase: {data: wiki}\n"
                                                         "axes: [{field: lr, values: [0.5, 0.25]}]\n",
                                                         (folder.path() / "s.yaml").string())
                                               .value())
                             .value();
  std::vector<PlotTrial> trials(3);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].id = "t-" + std::to_string(i);
    trials[i].state = "SUCCEEDED";
    trials[i].train_stage = "st-" + std::to_string(i / 2);  // The first two are evaluations of one training.
    trials[i].evaluate_stage = "st-1" + std::to_string(i);
    trials[i].labels = {{"lr", i < 2 ? "0.5" : "0.25"}};
    trials[i].measurements = {static_cast<double>(i)};
  }
  v1::FigureSpec spec;
  spec.set_kind(v1::FigureSpec::AGAINST);
  spec.set_x("lr");
  spec.set_y("train_loss");
  const CurveReader none = [](const std::vector<std::string>&) { return std::map<std::string, Curve>(); };
  const Figure figure = BuildFigure(spec, grid, trials, none).value();
  EXPECT_EQ(figure.x_title, "lr (eta)");
  EXPECT_EQ(figure.y_title, "train_loss (nat)");
  ASSERT_EQ(figure.series.size(), 1u);
  ASSERT_EQ(figure.series[0].points.size(), 2u);
  EXPECT_EQ(figure.series[0].points[1].y.mean, 0) << "a measurement of the training counts once";
}

}  // namespace
}  // namespace inlier
