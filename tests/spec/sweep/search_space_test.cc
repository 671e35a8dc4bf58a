// Sweeps whose points a sampler asks for: their form, the points that they can have, and what the sampler is shown.
#include "spec/sweep/search_space.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "grid_points.h"
#include "spec/sweep/sweep_edit.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kAxes[] =
    "axes: [{field: training.optimizer.adamw.learning_rate, range: {min: 1e-5, max: 1e-2, log: true}}, "
    "{field: training.batch_size, range: {min: 8, max: 32, step: 8}}, "
    "{field: attention.softmax.clipped.gamma, values: [0, -0.03]}, "
    "{field: seed, values: [1, 2], each: true}]";
constexpr char kObjective[] = "objectives: [{measurement: perplexity}]";

std::string SearchText(const std::string& search, const std::string& axes = kAxes) {
  return "name: s\nbase: " + std::string(kTinyBert) + "\nsampling: {optuna: {" + search + "}}\n" + axes +
         "\n";
}

v1::SweepSpec Searched(const std::string& search, const std::string& axes = kAxes) {
  const auto sweep = ReadSweepText(SearchText(search, axes), "s.yaml");
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return sweep.ok() ? *sweep : v1::SweepSpec();
}

std::string ProblemOf(const std::string& search, const std::string& axes = kAxes) {
  const auto sweep = ReadSweepText(SearchText(search, axes), "s.yaml");
  return sweep.ok() ? "OK" : std::string(sweep.status().message());
}

SweepGrid::SearchPoints Points(const std::vector<std::string>& values) {
  SweepGrid::SearchPoints points;
  for (const std::string& json : values)
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, points.Add()->mutable_values()).ok());
  return points;
}

std::string Refused(SweepGrid grid, const std::string& values) {
  const absl::Status status = grid.Append(Points({values}));
  return status.ok() ? "OK" : std::string(status.message());
}

TEST(SearchSpaceTest, PointsComeOneAfterAnotherEachWithEverySeed) {
  SweepGrid grid = SweepGrid::Create(Searched("trials: 3, " + std::string(kObjective))).value();
  EXPECT_EQ(grid.size(), 6u);
  EXPECT_EQ(grid.kept(), 6u);
  EXPECT_EQ(grid.decided(), 0u);
  EXPECT_EQ(grid.sampling(), "3 points that Optuna proposes (TPE), 1 at once, seed 1");
  EXPECT_FALSE(grid.NextIndex(0).has_value());
  const std::string point = R"({"learning_rate": 0.001234, "batch_size": 16, "gamma": "-0.03"})";
  ASSERT_TRUE(grid.Append(Points({point})).ok());
  EXPECT_EQ(grid.decided(), 2u);
  EXPECT_THAT(AllPoints(grid), ElementsAre("learning_rate=0.001234 batch_size=16 gamma=-0.03 seed=1",
                                           "learning_rate=0.001234 batch_size=16 gamma=-0.03 seed=2"));
  EXPECT_DOUBLE_EQ(grid.At(1)->spec.training().optimizer().adamw().learning_rate(), 0.001234);
  // Again the same: a row without points, of which the sweep then has less.
  ASSERT_TRUE(grid.Append(Points({point, R"({"learning_rate": 0.01, "batch_size": 32, "gamma": 0})"})).ok());
  EXPECT_EQ(grid.decided(), 6u);
  EXPECT_EQ(grid.kept(), 4u);
  EXPECT_EQ(grid.NextIndex(2), 4u);
  EXPECT_THAT(Refused(grid, point), HasSubstr("the sweep has 3 points at most, and would have 4"));
}

TEST(SearchSpaceTest, APointThatTheSweepCannotHaveIsRefusedByName) {
  const SweepGrid grid = SweepGrid::Create(Searched("trials: 3, " + std::string(kObjective))).value();
  const auto with = [&grid](const std::string& rate, const std::string& batch, const std::string& more) {
    return Refused(grid, R"({"learning_rate": )" + rate + R"(, "batch_size": )" + batch + more + "}");
  };
  const std::string gamma = R"(, "gamma": "0")";
  EXPECT_EQ(with("0.001", "16", gamma), "OK");
  EXPECT_THAT(with("0.1", "16", gamma), HasSubstr("points[0].values.learning_rate: 0.1 is above max 0.01"));
  EXPECT_THAT(with("1e-6", "16", gamma), HasSubstr("1e-6 is below min 1e-5"));
  EXPECT_THAT(with("\"NaN\"", "16", gamma), HasSubstr("learning_rate: is not a number"));
  EXPECT_THAT(with("0.001", "12", gamma), HasSubstr("batch_size: 12 is not min and a number of steps of 8"));
  EXPECT_THAT(with("0.001", "16.5", gamma), HasSubstr("batch_size: 16.5 is not a whole number"));
  EXPECT_THAT(with("0.001", "16", R"(, "gamma": "-0.04")"), HasSubstr("gamma: \"-0.04\" is not a label"));
  EXPECT_THAT(with("0.001", "16", ""), HasSubstr("points[0].values.gamma: is missing; give a value"));
  EXPECT_THAT(with("0.001", "16", gamma + R"(, "seed": 1)"),
              HasSubstr("seed: is not an axis that is searched"));
  SweepGrid::SearchPoints nan = Points({R"({"batch_size": 16, "gamma": "0"})"});
  (*nan[0].mutable_values()->mutable_fields())["learning_rate"].set_number_value(std::nan(""));
  SweepGrid changed = grid;
  EXPECT_THAT(std::string(changed.Append(nan).message()), HasSubstr("learning_rate: is not a finite number"));
  // One wrong point of several: none is taken.
  EXPECT_FALSE(
      changed.Append(Points({R"({"learning_rate": 0.001, "batch_size": 8, "gamma": "0"})", "{}"})).ok());
  EXPECT_EQ(changed.decided(), 0u);
}

TEST(SearchSpaceTest, AConditionalAxisIsGivenWhereItApplies) {
  const std::string axes =
      "axes: [{name: method, variants: [{label: vanilla}, {label: clipped}]}, "
      "{field: attention.softmax.clipped.gamma, range: {min: -0.1, max: 0}, when: {method: clipped}}]";
  const v1::SweepSpec sweep = Searched("trials: 4, " + std::string(kObjective), axes);
  SweepGrid grid = SweepGrid::Create(sweep).value();
  EXPECT_THAT(Refused(grid, R"({"method": "vanilla", "gamma": -0.03})"), HasSubstr("gamma: does not apply"));
  EXPECT_THAT(Refused(grid, R"({"method": "clipped"})"), HasSubstr("gamma: is missing"));
  ASSERT_TRUE(
      grid.Append(Points({R"({"method": "vanilla"})", R"({"method": "clipped", "gamma": -0.03})"})).ok());
  EXPECT_THAT(AllPoints(grid), ElementsAre("method=vanilla gamma=", "method=clipped gamma=-0.03"));
  const v1::Search search = SearchOf(sweep, grid);
  ASSERT_EQ(search.axes_size(), 2);
  EXPECT_THAT(search.axes(0).labels(), ElementsAre("vanilla", "clipped"));
  EXPECT_EQ(search.axes(1).when(0).axis(), "method");
  EXPECT_THAT(search.axes(1).when(0).labels(), ElementsAre("clipped"));
  EXPECT_EQ(search.axes(1).range().min(), -0.1);
  EXPECT_THAT(ProblemOf("trials: 4, " + std::string(kObjective),
                      "axes: [{field: seed, values: [1, 2], each: true}, {field: training.batch_size, range: "
                      "{min: 1, max: 8}, when: {seed: 1}}]"),
              HasSubstr("axis seed runs with each of its values, so that no point decides it"));
}

TEST(SearchSpaceTest, EqualPointsAreWrittenTheSameWay) {
  const v1::SweepSpec sweep =
      Searched("trials: 3, " + std::string(kObjective) + ", start: [{gamma: -0.03}, {gamma: 0}]");
  SweepGrid grid = SweepGrid::Create(sweep).value();
  SweepGrid::SearchPoints points = Points({R"({"learning_rate": 0.001, "batch_size": 16, "gamma": -0.03})"});
  WriteOneWay(grid, points[0].mutable_values());
  EXPECT_EQ(points[0].values().fields().at("gamma").string_value(), "-0.03");
  EXPECT_EQ(points[0].values().fields().at("batch_size").number_value(), 16);
  const v1::Search search = SearchOf(sweep, grid);
  EXPECT_EQ(search.sampling().start(0).fields().at("gamma").string_value(), "-0.03");
  EXPECT_EQ(search.sampling().start(1).fields().at("gamma").string_value(), "0");
  // -0 is 0.
  grid = SweepGrid::Create(
             Searched("trials: 2, " + std::string(kObjective),
                      "axes: [{field: attention.softmax.clipped.gamma, range: {min: -0.1, max: 0}}]"))
             .value();
  ASSERT_TRUE(grid.Append(Points({R"({"gamma": 0})", R"({"gamma": -0.0})"})).ok());
  EXPECT_EQ(grid.kept(), 1u);
}

TEST(SearchSpaceTest, TheSamplerIsShownWholeRangesAndTheBetterDirection) {
  const v1::SweepSpec sweep = Searched(
      "sampler: NSGA_II, trials: 4, objectives: [{measurement: perplexity}, {measurement: max_inf_norm, "
      "goal: MAXIMIZE}], "
      "constraints: [{measurement: avg_kurtosis, max: 100}], start: [{learning_rate: 1e-3, gamma: -0.03}]");
  const v1::Search search = SearchOf(sweep, *SweepGrid::Create(sweep));
  EXPECT_EQ(search.sampling().objectives(0).goal(), v1::PruningSpec::MINIMIZE);
  EXPECT_EQ(search.sampling().objectives(1).goal(), v1::PruningSpec::MAXIMIZE);
  ASSERT_EQ(search.axes_size(), 3);
  EXPECT_TRUE(search.axes(1).range().integer());
  EXPECT_EQ(search.axes(1).range().max(), 32);
}

TEST(SearchSpaceTest, MistakesOfTheFileAreNamed) {
  const std::string good = kObjective;
  EXPECT_THAT(ProblemOf("trials: 4"), HasSubstr("objectives: are missing; name what to improve"));
  EXPECT_THAT(ProblemOf("trials: 4, objectives: [{measurement: perplexty}]"),
              HasSubstr("did you mean \"perplexity\"?"));
  EXPECT_THAT(ProblemOf("trials: 4, objectives: [{measurement: unigram_perplexity}]"),
              HasSubstr("give goal: MINIMIZE or MAXIMIZE"));
  EXPECT_THAT(ProblemOf("trials: 4, " + good + ", constraints: [{measurement: perplexity}]"),
              HasSubstr("limits nothing"));
  EXPECT_THAT(
      ProblemOf("trials: 4, sampler: CMA_ES, " + good + ", constraints: [{measurement: perplexity, max: 9}]"),
      HasSubstr("CMA_ES takes no constraints"));
  EXPECT_THAT(ProblemOf("trials: 4, " + good + ", start: [{learning_rate: 1}]"),
              HasSubstr("start[0].learning_rate: 1 is above max 0.01"));
  EXPECT_THAT(ProblemOf("trials: 4, " + good + ", start: [{rate: 1}]"),
              HasSubstr("is not an axis that is searched"));
  EXPECT_THAT(ProblemOf("trials: 4, " + good,
                      "axes: [{field: training.batch_size, normal: {mean: 8, std: 1, min: 1, max: 99}}]"),
              HasSubstr("is not searched by Optuna, which takes ranges"));
  EXPECT_THAT(
      ProblemOf("trials: 4, " + good, "axes: [{field: training.batch_size, values: [8, 16], weights: [1, 2]}]"),
      HasSubstr("have no effect where Optuna proposes"));
  EXPECT_THAT(ProblemOf("trials: 0, " + good), HasSubstr("trials"));
}

TEST(SearchSpaceTest, AnEditChangesHowManyPointsAndNothingElse) {
  const v1::SweepSpec from = Searched("trials: 3, " + std::string(kObjective));
  v1::SweepSpec to = from;
  to.mutable_sampling()->mutable_optuna()->set_trials(5);
  to.mutable_sampling()->mutable_optuna()->set_parallel(2);
  const auto edit = SweepEdit::Create(from, *SweepGrid::Create(from), to, *SweepGrid::Create(to));
  ASSERT_TRUE(edit.ok()) << edit.status();
  EXPECT_TRUE(edit->only_appends());
  EXPECT_EQ(edit->common(), 6u);
  to.mutable_sampling()->mutable_optuna()->set_sampler(v1::OptunaSampling::GP);
  EXPECT_THAT(
      std::string(
          SweepEdit::Create(from, *SweepGrid::Create(from), to, *SweepGrid::Create(to)).status().message()),
      HasSubstr("cannot be edited"));
}

}  // namespace
}  // namespace inlier
