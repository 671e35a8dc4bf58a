// Cells on numbers worked out by hand: trainings and calibrations, the best point of a grid, means over labels and columns,
// rank correlations of columns.
#include "results/tables/cell_maker.h"

#include <cmath>

#include "tests/results/tables/table_fixture.h"

namespace inlier {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using CellMakerTest = TableTest;

v1::TableColumn* AddColumn(v1::TableSpec* spec, const std::string& heading, const std::string& measurement) {
  v1::TableColumn* column = spec->add_columns();
  column->set_heading(heading);
  column->set_measurement(measurement);
  return column;
}

// Calibrations of the trainings: 10, 11, 12 and 13, 15, 17.
TEST_F(CellMakerTest, DeviationIsOverTrainingsAndTheCalibrationsSpreadIsApart) {
  MustAddSweep(1, "s", {{"seed", {"1", "2"}}, {"ptq", {"1", "2", "3"}}});
  MustAddCalibrations(1, {{"seed", "1"}}, {10, 11, 12});
  MustAddCalibrations(1, {{"seed", "2"}}, {13, 15, 17});
  const v1::TableCell cell = MustBuild(TableOf({})).rows(0).cells(0);
  EXPECT_EQ(cell.count(), 6u);
  EXPECT_EQ(cell.trainings(), 2u);
  EXPECT_EQ(cell.evaluations(), 3u);
  EXPECT_THAT(cell.training_means(), ElementsAre(11, 15));
  EXPECT_EQ(cell.mean(), 13);
  EXPECT_EQ(cell.median(), 13);
  EXPECT_EQ(cell.best(), 11) << "the best training, not the best calibration";
  EXPECT_THAT(cell.std(), DoubleEq(std::sqrt(8.0)));
  EXPECT_THAT(cell.within_std(), DoubleEq(std::sqrt(2.5)));
  EXPECT_THAT(cell.pooled_std(), DoubleEq(std::sqrt(6.8)));
}

// One grid point, (a, x), has the better mean, (b, y) the better median of accuracy; perplexity is of the chosen point.
//   (a, x): 0.5 0.5 0.95 -> mean 0.65, median 0.5     (b, y): 0.6 0.6 0.6 -> 0.6, 0.6
class BestPointTest : public TableTest {
 protected:
  void MustAddGrid() {
    MustAddSweep(1, "s", {{"rate", {"a", "b"}}, {"batch", {"x", "y"}}, {"seed", {"1", "2", "3"}}});
    const double first[] = {0.5, 0.5, 0.95};
    for (int seed = 1; seed <= 3; ++seed) {
      const std::string label = std::to_string(seed);
      MustAddTrial(1, {{"rate", "a"}, {"batch", "x"}, {"seed", label}}, 10 * seed, first[seed - 1]);
      MustAddTrial(1, {{"rate", "b"}, {"batch", "y"}, {"seed", label}}, 7, 0.6);
    }
  }
  static v1::TableSpec Columns(v1::TableColumn::Statistic statistic) {
    v1::TableSpec spec;
    for (const std::string measurement : {"accuracy", "perplexity"}) {
      v1::TableColumn* column = AddColumn(&spec, measurement, measurement);
      column->set_statistic(statistic);
      column->mutable_best_of()->add_over("rate");
      column->mutable_best_of()->add_over("batch");
    }
    spec.mutable_columns(1)->mutable_best_of()->set_by("accuracy");
    return spec;
  }
};

TEST_F(BestPointTest, MeanOrMedianOverTheSeedsChoosesAndOtherMeasurementsFollow) {
  MustAddGrid();
  const v1::Table by_mean = MustBuild(Columns(v1::TableColumn::MEAN));
  EXPECT_EQ(by_mean.rows(0).cells(0).chosen(), "a, x");
  EXPECT_THAT(by_mean.rows(0).cells(0).mean(), DoubleEq(0.65));
  EXPECT_EQ(by_mean.rows(0).cells(1).chosen(), "a, x");
  EXPECT_EQ(by_mean.rows(0).cells(1).mean(), 20);
  EXPECT_THAT(by_mean.rows(0).cells(1).trials(), ElementsAre("t-1", "t-3", "t-5"));
  const v1::Table by_median = MustBuild(Columns(v1::TableColumn::MEDIAN));
  EXPECT_EQ(by_median.rows(0).cells(0).chosen(), "b, y");
  EXPECT_EQ(by_median.rows(0).cells(0).median(), 0.6);
  EXPECT_EQ(by_median.rows(0).cells(1).median(), 7);
  v1::TableSpec spec = Columns(v1::TableColumn::MEAN);
  spec.mutable_columns(1)->mutable_best_of()->clear_by();
  EXPECT_EQ(MustBuild(spec).rows(0).cells(1).mean(), 7) << "by its own measurement, less is better";
}

TEST_F(BestPointTest, WhatOtherPointsLackIsMissing) {
  MustAddGrid();
  MustAddTrial(1, {{"rate", "b"}, {"batch", "x"}, {"seed", "1"}}, std::nullopt);
  const v1::TableCell cell = MustBuild(Columns(v1::TableColumn::MEAN)).rows(0).cells(0);
  EXPECT_EQ(cell.chosen(), "a, x");
  EXPECT_EQ(cell.missing(), 1u);
  EXPECT_EQ(cell.count(), 3u);
}

// A diverged seed of the best point would leave the two lucky ones.
TEST_F(BestPointTest, PointsWithADivergedTrainingAreNotChosen) {
  MustAddGrid();
  MustApply(Train(91), Trial(91, 1, 90, 91, 91, R"({"rate":"a","batch":"x","seed":"4"})"));
  MustApply(Start(900, 91), End(900, v1::DIVERGED), TrialIs(91, v1::DIVERGED));
  EXPECT_EQ(MustBuild(Columns(v1::TableColumn::MEAN)).rows(0).cells(0).chosen(), "b, y");
}

// Grid points differ between methods; pairs agree in seeds all the same.
TEST_F(BestPointTest, BestPointsArePairedBySeeds) {
  MustAddSweep(1, "s", {{"method", {"a", "b"}}, {"rate", {"1", "2"}}, {"seed", {"1", "2"}}});
  for (const std::string seed : {"1", "2"}) {
    MustAddTrial(1, {{"method", "a"}, {"rate", "1"}, {"seed", seed}}, 5);
    MustAddTrial(1, {{"method", "a"}, {"rate", "2"}, {"seed", seed}}, 6);
    MustAddTrial(1, {{"method", "b"}, {"rate", "1"}, {"seed", seed}}, 4.5);
    MustAddTrial(1, {{"method", "b"}, {"rate", "2"}, {"seed", seed}}, seed == "1" ? 3 : 4);
  }
  v1::TableSpec spec;
  spec.add_rows("method");
  AddColumn(&spec, "ppl", "perplexity")->mutable_best_of()->add_over("rate");
  (*spec.mutable_baseline())["method"] = TextValue("a");
  const v1::Table table = MustBuild(spec);
  EXPECT_EQ(table.rows(0).cells(0).chosen(), "1");
  EXPECT_EQ(table.rows(1).cells(0).chosen(), "2");
  EXPECT_EQ(table.rows(1).cells(0).pairs(), 2u);
  EXPECT_EQ(table.rows(1).cells(0).paired_difference(), -1.5);
}

// Sets p: 1 2 9 and q: 4 4 5, three seeds: medians 2 and 4, means 4 and 13 / 3.
TEST_F(CellMakerTest, MeanOverDataSetsIsOfEachOnesNumber) {
  MustAddSweep(1, "s", {{"set", {"p", "q"}}, {"seed", {"1", "2", "3"}}});
  const double p[] = {1, 2, 9}, q[] = {4, 4, 5};
  for (int seed = 0; seed < 3; ++seed) {
    MustAddTrial(1, {{"set", "p"}, {"seed", std::to_string(seed + 1)}}, p[seed]);
    MustAddTrial(1, {{"set", "q"}, {"seed", std::to_string(seed + 1)}}, q[seed]);
  }
  v1::TableSpec spec;
  for (const auto statistic : {v1::TableColumn::MEAN, v1::TableColumn::MEDIAN, v1::TableColumn::BEST}) {
    v1::TableColumn* column = AddColumn(&spec, std::to_string(statistic), "perplexity");
    column->set_statistic(statistic);
    column->add_mean_over("set");
  }
  const v1::Table table = MustBuild(spec);
  const auto shown = [&](int i) { return *ShownNumber(table.rows(0).cells(i), spec.columns(i).statistic()); };
  EXPECT_THAT(shown(0), DoubleEq((4 + 13.0 / 3) / 2));
  EXPECT_EQ(shown(1), 3);
  EXPECT_EQ(shown(2), 2.5);
  EXPECT_EQ(table.rows(0).cells(0).trainings(), 3u);
  EXPECT_FALSE(table.rows(0).cells(0).has_std());
  MustAddTrial(1, {{"set", "r"}, {"seed", "1"}}, std::nullopt);
  const v1::TableCell incomplete = MustBuild(spec).rows(0).cells(0);
  EXPECT_EQ(incomplete.count(), 0u) << "a set has no result yet";
  EXPECT_FALSE(incomplete.has_mean());
  EXPECT_EQ(incomplete.missing(), 1u);
}

// (mean(accuracy of p, ppl of p), ppl of q): ((0.5 + 1.5) / 2 + 4) / 2.
TEST_F(CellMakerTest, MeanOfColumnsTakesAListAsOne) {
  MustAddSweep(1, "s", {{"set", {"p", "q"}}, {"seed", {"1"}}});
  MustAddTrial(1, {{"set", "p"}, {"seed", "1"}}, 1.5, 0.5);
  MustAddTrial(1, {{"set", "q"}, {"seed", "1"}}, 4);
  v1::TableSpec spec;
  (*AddColumn(&spec, "p acc", "accuracy")->mutable_where())["set"] = TextValue("p");
  (*AddColumn(&spec, "p ppl", "perplexity")->mutable_where())["set"] = TextValue("p");
  v1::TableColumn* mean = spec.add_columns();
  mean->set_heading("average");
  google::protobuf::ListValue* both = mean->add_mean_of()->mutable_list_value();
  both->add_values()->set_string_value("p acc");
  both->add_values()->set_string_value("p ppl");
  mean->add_mean_of()->set_string_value("q ppl");
  (*AddColumn(&spec, "q ppl", "perplexity")->mutable_where())["set"] = TextValue("q");
  const v1::Table table = MustBuild(spec);
  EXPECT_EQ(table.rows(0).cells(2).mean(), 2.5);
  EXPECT_FALSE(table.rows(0).cells(2).is_best());
  spec.mutable_columns(2)->mutable_mean_of(1)->set_string_value("q pl");
  EXPECT_EQ(ErrorOf(spec),
            "table.columns[2].mean_of[1]: no column has the heading \"q pl\"; did you mean \"q ppl\"?");
  spec.mutable_columns(2)->mutable_mean_of(1)->set_string_value("average");
  EXPECT_EQ(ErrorOf(spec),
            "table.columns[2].mean_of[1]: \"average\" is itself a mean of columns; name those");
  spec.mutable_columns(2)->set_measurement("perplexity");
  EXPECT_EQ(ErrorOf(spec),
            "table.columns[2]: with mean_of only heading and decimals are given; the columns that it names "
            "have the rest");
  spec.mutable_columns(2)->clear_measurement();
  spec.mutable_columns(2)->clear_mean_of();
  EXPECT_EQ(ErrorOf(spec),
            "table.columns[2]: give a measurement, such as {measurement: perplexity}, or mean_of");
}

TEST_F(CellMakerTest, GridsNameWhatIsThere) {
  MustAddSweep(1, "s", {{"rate", {"a", "b"}}, {"seed", {"1"}}});
  v1::TableSpec spec;
  v1::BestPoint* best = AddColumn(&spec, "x", "perplexity")->mutable_best_of();
  EXPECT_EQ(ErrorOf(spec),
            "table.columns[0].best_of.over: is missing: give the axes of the grid, such as [rate, batch]");
  best->add_over("raet");
  EXPECT_EQ(ErrorOf(spec),
            "table.columns[0].best_of.over: \"raet\" is neither an axis of the sweep nor a column of the "
            "view trials; "
            "did you mean \"rate\"?");
  best->set_over(0, "rate");
  best->set_by("majority_accuracy");
  EXPECT_EQ(ErrorOf(spec),
            "table.columns[0].best_of.by: majority_accuracy has no better direction and cannot choose; name "
            "another");
}

// Rows a to d: perplexity 1 2 3 4 (means over two seeds), accuracy 0.1 0.3 0.2 0.4: rho = 1 - 6 * 2 / (4 * 15) = 0.8. Of the
// 24 orders 4 have at least 0.8 and 4 at most -0.8.
TEST_F(CellMakerTest, ColumnsAreCorrelatedOverRowsAndOverTrainings) {
  MustAddSweep(1, "s", {{"method", {"a", "b", "c", "d"}}, {"seed", {"1", "2"}}});
  const double accuracy[] = {0.1, 0.3, 0.2, 0.4};
  const std::string methods[] = {"a", "b", "c", "d"};
  for (int i = 0; i < 4; ++i) {
    MustAddTrial(1, {{"method", methods[i]}, {"seed", "1"}}, i + 0.75, accuracy[i]);
    MustAddTrial(1, {{"method", methods[i]}, {"seed", "2"}}, i + 1.25, accuracy[i]);
  }
  v1::TableSpec spec;
  spec.add_rows("method");
  AddColumn(&spec, "ppl", "perplexity");
  AddColumn(&spec, "acc", "accuracy");
  v1::RankCorrelation* asked = spec.add_correlate();
  asked->set_x("ppl");
  asked->set_y("acc");
  *spec.add_correlate() = *asked;
  spec.mutable_correlate(1)->set_points(v1::RankCorrelation::TRAININGS);
  const v1::Table table = MustBuild(spec);
  ASSERT_EQ(table.correlations_size(), 2);
  EXPECT_EQ(table.correlations(0).count(), 4u);
  EXPECT_THAT(table.correlations(0).rho(), DoubleEq(0.8));
  EXPECT_THAT(table.correlations(0).p(), DoubleEq(8.0 / 24));
  // Ranks 1 to 8 and 1.5 1.5 5.5 5.5 3.5 3.5 7.5 7.5: sums of squares 42 and 40, of products 32.
  EXPECT_EQ(table.correlations(1).count(), 8u);
  EXPECT_THAT(table.correlations(1).rho(), DoubleEq(32 / std::sqrt(42.0 * 40)));
  spec.mutable_correlate(1)->set_y("ac");
  EXPECT_EQ(ErrorOf(spec), "table.correlate[1].y: no column has the heading \"ac\"; known: ppl, acc");
}

TEST_F(CellMakerTest, WithoutPointsThereIsNoCorrelation) {
  MustAddSweep(1, "s", {{"seed", {"1"}}});
  MustAddTrial(1, {{"seed", "1"}}, 5, 0.5);
  v1::TableSpec spec;
  AddColumn(&spec, "ppl", "perplexity");
  AddColumn(&spec, "acc", "accuracy");
  spec.add_correlate()->set_x("ppl");
  spec.mutable_correlate(0)->set_y("acc");
  const v1::Table table = MustBuild(spec);
  EXPECT_EQ(table.correlations(0).count(), 1u);
  EXPECT_FALSE(table.correlations(0).has_rho());
  EXPECT_FALSE(table.correlations(0).has_p());
  EXPECT_THAT(table.comparison_notes(), IsEmpty());
}

}  // namespace
}  // namespace inlier
