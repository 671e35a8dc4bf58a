// Tables with a baseline, of several sweeps, with the best in bold: from a real database.
#include "results/tables/comparison.h"

#include <cmath>

#include "results/statistics/difference_tests.h"
#include "tests/results/tables/table_fixture.h"

namespace inlier {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ComparisonTest : public TableTest {
 protected:
  // Two models, two methods, three seeds: clipped is 0.5, 0.6, 0.4 better in A and 1 worse in B, without spread.
  void MustAddMethods() {
    MustAddSweep(1, "methods",
                 {{"model", {"A", "B"}}, {"method", {"vanilla", "clipped"}}, {"seed", {"1", "2", "3"}}});
    const double better[] = {0.5, 0.6, 0.4};
    for (int seed = 1; seed <= 3; ++seed) {
      const std::string label = std::to_string(seed);
      MustAddTrial(1, {{"model", "A"}, {"method", "vanilla"}, {"seed", label}}, 10 + seed);
      MustAddTrial(1, {{"model", "A"}, {"method", "clipped"}, {"seed", label}}, 10 + seed - better[seed - 1]);
      MustAddTrial(1, {{"model", "B"}, {"method", "vanilla"}, {"seed", label}}, 20);
      MustAddTrial(1, {{"model", "B"}, {"method", "clipped"}, {"seed", label}}, 21);
    }
  }

  static v1::TableSpec Methods() { return TableOf({"model", "method"}, {"perplexity"}, "vanilla"); }
};

TEST_F(ComparisonTest, RowsAreComparedWithTheBaselineOfTheirGroup) {
  MustAddMethods();
  const v1::Table table = MustBuild(Methods());
  ASSERT_EQ(table.rows_size(), 4);
  EXPECT_THAT(table.baseline(), ElementsAre("vanilla"));
  EXPECT_EQ(table.confidence(), 0.95);
  const v1::TableCell& vanilla = table.rows(0).cells(0);
  EXPECT_FALSE(vanilla.has_difference());
  EXPECT_FALSE(vanilla.has_pairs());
  const v1::TableCell& clipped = table.rows(1).cells(0);
  EXPECT_THAT(clipped.values(), ElementsAre(10.5, DoubleEq(11.4), DoubleEq(12.6)));
  EXPECT_THAT(clipped.difference(), DoubleEq(11.5 - 12));
  EXPECT_LT(clipped.difference_low(), clipped.difference());
  EXPECT_GT(clipped.difference_high(), clipped.difference());
  EXPECT_EQ(clipped.welch_p(), *WelchP({std::log(10.5), std::log(11.4), std::log(12.6)},
                                       {std::log(11.0), std::log(12.0), std::log(13.0)}))
      << "of losses";
  EXPECT_EQ(clipped.pairs(), 3u);
  // -0.5, -0.6, -0.4: Student's t of two degrees of freedom at 97.5 %, 0.95 * sqrt(2 / (4 * 0.975 * 0.025)) = 4.3027, times
  // 0.1 / sqrt(3) on each side.
  const double half = 0.95 * std::sqrt(2 / (4 * 0.975 * 0.025)) * 0.1 / std::sqrt(3.0);
  EXPECT_THAT(clipped.paired_difference(), DoubleEq(-0.5));
  EXPECT_NEAR(clipped.paired_low(), -0.5 - half, 1e-12);
  EXPECT_NEAR(clipped.paired_high(), -0.5 + half, 1e-12);
  // Of ln(10.5 / 11), ln(11.4 / 12), ln(12.6 / 13) with two degrees of freedom: 1 - t / sqrt(2 + t^2). The seeds vary more than the
  // difference.
  EXPECT_NEAR(clipped.paired_p(), 0.01916995119596543, 1e-9);
  EXPECT_GT(clipped.welch_p(), 0.5);
  const v1::TableCell& other = table.rows(3).cells(0);
  EXPECT_EQ(other.difference(), 1);
  EXPECT_EQ(other.difference_low(), 1);
  EXPECT_FALSE(other.has_welch_p());
  EXPECT_FALSE(other.has_paired_p());
  EXPECT_EQ(other.pairs(), 3u);
  EXPECT_EQ(other.paired_difference(), 1);
  EXPECT_FALSE(other.has_paired_low()) << "equal differences have no spread to make an interval of";
  EXPECT_EQ(table.rows(0).baseline_row(), 0u);
  EXPECT_EQ(table.rows(1).baseline_row(), 0u);
  EXPECT_EQ(table.rows(3).baseline_row(), 2u);
  EXPECT_THAT(table.comparison_notes(), IsEmpty());
}

// 1,294 ± 1,046 against 4.52: of perplexities p is 0.33, of losses t = 5.459 / (0.9128 / sqrt(2)) with one degree of freedom.
TEST_F(ComparisonTest, ACollapseIsTestedByItsLosses) {
  MustAddSweep(1, "s", {{"method", {"a", "b"}}, {"seed", {"1", "2"}}});
  const std::vector<std::pair<double, double>> pairs = {{554.4, 4.50}, {2033.6, 4.54}};
  for (int seed = 1; seed <= 2; ++seed) {
    const auto& [collapsed, other] = pairs[static_cast<std::size_t>(seed) - 1];
    MustAddTrial(1, {{"method", "a"}, {"seed", std::to_string(seed)}}, other);
    MustAddTrial(1, {{"method", "b"}, {"seed", std::to_string(seed)}}, collapsed);
  }
  const v1::TableCell cell = MustBuild(TableOf({"method"}, {"perplexity"}, "a")).rows(1).cells(0);
  EXPECT_GT(*PairedP(pairs), 0.3);
  EXPECT_NEAR(cell.paired_p(), 0.075, 0.001);
  EXPECT_NEAR(cell.paired_difference(), 1289.5, 0.1) << "differences stay perplexities";
}

// Seeds 2 and 3 of one side, 1 and 2 of the other: one pair, 12.5 - 10. The means differ by 1 more.
TEST_F(ComparisonTest, OnlyCommonSeedsMakePairs) {
  MustAddSweep(1, "s", {{"method", {"a", "b"}}, {"seed", {"1", "2", "3"}}});
  MustAddTrial(1, {{"method", "a"}, {"seed", "1"}}, 8);
  MustAddTrial(1, {{"method", "a"}, {"seed", "2"}}, 10);
  MustAddTrial(1, {{"method", "b"}, {"seed", "2"}}, 12.5);
  MustAddTrial(1, {{"method", "b"}, {"seed", "3"}}, 12.5);
  const v1::TableCell cell = MustBuild(TableOf({"method"}, {"perplexity"}, "a")).rows(1).cells(0);
  EXPECT_EQ(cell.pairs(), 1u);
  EXPECT_EQ(cell.paired_difference(), 2.5);
  EXPECT_FALSE(cell.has_paired_low());
  EXPECT_FALSE(cell.has_paired_p());
  EXPECT_EQ(cell.difference(), 3.5);
}

// Two trainings a method, three calibrations of each: two pairs. The second training of b lacks a calibration; its pair is
// over the other two: (5 + 6) / 2 - (1 + 2) / 2.
// An axis that applies `when` the method is one of them: a rate of Adam, and one of OrthoAdam.
TEST_F(ComparisonTest, AnAxisThatOneSideHasIsAPartOfWhatIsCompared) {
  MustAddSweep(1, "methods",
               {{"method", {"vanilla", "clipped"}},
                {"adam rate", {"1e-3"}},
                {"gamma", {"-0.03"}},
                {"seed", {"1", "2"}}});
  for (const char* seed : {"1", "2"}) {
    MustAddTrial(1, {{"method", "vanilla"}, {"adam rate", "1e-3"}, {"gamma", ""}, {"seed", seed}}, 10);
    MustAddTrial(1, {{"method", "clipped"}, {"adam rate", ""}, {"gamma", "-0.03"}, {"seed", seed}}, 9);
  }
  v1::TableSpec spec = Methods();
  spec.mutable_rows()->DeleteSubrange(0, 1);
  EXPECT_EQ(MustBuild(spec).rows(1).cells(0).pairs(), 2u);
}

TEST_F(ComparisonTest, PairsAreTrainingsWithTheMeanOverCommonCalibrations) {
  MustAddSweep(1, "s", {{"method", {"a", "b"}}, {"seed", {"1", "2"}}, {"ptq", {"1", "2", "3"}}});
  MustAddCalibrations(1, {{"method", "a"}, {"seed", "1"}}, {1, 2, 3});
  MustAddCalibrations(1, {{"method", "a"}, {"seed", "2"}}, {1, 2, 9});
  MustAddCalibrations(1, {{"method", "b"}, {"seed", "1"}}, {2, 4, 6});
  MustAddCalibrations(1, {{"method", "b"}, {"seed", "2"}}, {5, 6});
  const v1::Table table = MustBuild(TableOf({"method"}, {"perplexity"}, "a"));
  const v1::TableCell& cell = table.rows(1).cells(0);
  EXPECT_EQ(cell.pairs(), 2u);
  EXPECT_EQ(cell.paired_difference(), (2 + 4) / 2.0);  // Differences 2 and 4.
  EXPECT_EQ(cell.difference(), (4 + 5.5) / 2 - (2 + 4) / 2.0);
  EXPECT_EQ(cell.welch_p(), *WelchP({std::log(4), std::log(5.5)}, {std::log(2), std::log(4)}))
      << "of two trainings, not of five results";
  EXPECT_NEAR(cell.paired_p(), *PairedP({{std::log(4), std::log(2)}, {std::log(5.5), std::log(1.5)}}), 1e-15);
}

// The same training in float and quantized: the axis bits is compared, and the calibration applies to one side alone.
TEST_F(ComparisonTest, BitsAreComparedWithinATraining) {
  MustAddSweep(1, "s", {{"bits", {"float", "W8A8"}}, {"seed", {"1", "2"}}, {"ptq", {"1", "2"}}});
  for (const std::string seed : {"1", "2"}) {
    MustAddTrial(1, {{"bits", "float"}, {"seed", seed}, {"ptq", ""}}, 10);
    MustAddCalibration(1, {{"bits", "W8A8"}, {"seed", seed}, {"ptq", "1"}}, 11);
    MustAddCalibration(1, {{"bits", "W8A8"}, {"seed", seed}, {"ptq", "2"}}, seed == "1" ? 12 : 15);
  }
  const v1::TableCell cell = MustBuild(TableOf({"bits"}, {"perplexity"}, "float")).rows(1).cells(0);
  EXPECT_EQ(cell.pairs(), 2u);
  EXPECT_EQ(cell.paired_difference(), (1.5 + 3) / 2);
}

TEST_F(ComparisonTest, WithoutACommonSeedThereIsANote) {
  MustAddSweep(1, "s", {{"method", {"a", "b"}}, {"seed", {"1", "2"}}});
  MustAddTrial(1, {{"method", "a"}, {"seed", "1"}}, 8);
  MustAddTrial(1, {{"method", "b"}, {"seed", "2"}}, 9);
  const v1::Table table = MustBuild(TableOf({"method"}, {"perplexity"}, "a"));
  EXPECT_EQ(table.rows(1).cells(0).pairs(), 0u);
  EXPECT_FALSE(table.rows(1).cells(0).has_paired_difference());
  EXPECT_EQ(table.rows(1).cells(0).difference(), 1);
  EXPECT_THAT(
      table.comparison_notes(),
      ElementsAre(
          "perplexity: 1 cell has no seed in common with a: not paired, a difference of means alone"));
}

TEST_F(ComparisonTest, BestOfEachGroupIsMarked) {
  MustAddMethods();
  v1::Table table = MustBuild(Methods());
  EXPECT_FALSE(table.rows(0).cells(0).is_best());
  EXPECT_TRUE(table.rows(1).cells(0).is_best());
  EXPECT_TRUE(table.rows(2).cells(0).is_best());
  v1::TableSpec spec = Methods();
  spec.clear_baseline();
  table = MustBuild(spec);
  EXPECT_TRUE(table.rows(1).cells(0).is_best());
  EXPECT_FALSE(table.rows(2).cells(0).is_best()) << "one of the whole column";
  EXPECT_FALSE(table.rows(1).cells(0).has_difference());
  spec.set_bold(false);
  EXPECT_FALSE(MustBuild(spec).rows(1).cells(0).is_best());
}

TEST_F(ComparisonTest, IncompleteCellsAreNotTheBestAndEqualOnesBothAre) {
  MustAddSweep(1, "s", {{"method", {"a", "b", "c", "d"}}, {"seed", {"1", "2"}}});
  MustAddTrial(1, {{"method", "a"}, {"seed", "1"}}, 5.001, 0.8);
  MustAddTrial(1, {{"method", "b"}, {"seed", "1"}}, 5.004, 0.9);
  MustAddTrial(1, {{"method", "c"}, {"seed", "1"}}, 6, 0.7);
  MustAddTrial(1, {{"method", "d"}, {"seed", "1"}}, 1, 0.99);
  MustAddTrial(1, {{"method", "d"}, {"seed", "2"}}, std::nullopt);
  const v1::Table table = MustBuild(TableOf({"method"}, {"perplexity", "accuracy", "attention_zero_share"}));
  const auto best = [&](int row, int column) { return table.rows(row).cells(column).is_best(); };
  EXPECT_TRUE(best(0, 0));
  EXPECT_TRUE(best(1, 0)) << "5.00, as printed";
  EXPECT_FALSE(best(2, 0));
  EXPECT_FALSE(best(3, 0)) << "a value is missing";
  EXPECT_TRUE(best(1, 1));
  EXPECT_FALSE(best(0, 1));
  EXPECT_FALSE(best(3, 1));
}

TEST_F(ComparisonTest, MedianAndBestAreBesideTheMean) {
  MustAddSweep(1, "s", {{"seed", {"1", "2", "3"}}});
  const double accuracy[] = {0.5, 0.7, 0.9};
  for (int i = 0; i < 3; ++i)
    MustAddTrial(1, {{"seed", std::to_string(i + 1)}}, std::pow(10.0, i), accuracy[i]);
  v1::TableSpec spec;
  for (const auto statistic : {v1::TableColumn::MEAN, v1::TableColumn::MEDIAN, v1::TableColumn::BEST}) {
    v1::TableColumn* column = spec.add_columns();
    column->set_measurement("perplexity");
    column->set_statistic(statistic);
  }
  spec.add_columns()->set_measurement("accuracy");
  const v1::Table table = MustBuild(spec);
  EXPECT_THAT(table.column_headings(),
              ElementsAre("perplexity", "perplexity median", "perplexity best", "accuracy"));
  EXPECT_EQ(table.columns(1).statistic(), v1::TableColumn::MEDIAN);
  const v1::TableCell& cell = table.rows(0).cells(1);
  EXPECT_EQ(cell.mean(), 37);
  EXPECT_EQ(cell.median(), 10);
  EXPECT_EQ(cell.best(), 1);
  EXPECT_EQ(table.rows(0).cells(3).best(), 0.9);
  EXPECT_EQ(ShownNumber(cell, v1::TableColumn::MEDIAN), 10);
  EXPECT_EQ(ShownNumber(v1::TableCell(), v1::TableColumn::MEDIAN), std::nullopt);
  spec.mutable_columns(2)->set_measurement("attention_zero_share");
  EXPECT_EQ(
      ErrorOf(spec),
      "table.columns[2].statistic: attention_zero_share has no better direction, thus no best; use MEAN "
      "or MEDIAN");
}

// A result that two trials share is one value, and makes one pair.
TEST_F(ComparisonTest, SharedResultsMakeOnePair) {
  MustAddSweep(1, "s", {{"method", {"a", "b"}}, {"seed", {"1", "2"}}, {"copy", {"x", "y"}}});
  for (const std::string method : {"a", "b"}) {
    for (const std::string seed : {"1", "2"}) {
      MustAddTrial(1, {{"method", method}, {"seed", seed}, {"copy", "x"}}, 5 + trials_);
      const int shared = trials_;
      MustApply(Trial(100 + shared, 1, 100 + shared, 2 * shared - 1, 2 * shared,
                      nlohmann::json(Labels{{"method", method}, {"seed", seed}, {"copy", "y"}}).dump()),
                TrialIs(100 + shared, v1::SUCCEEDED));
    }
  }
  const v1::Table table = MustBuild(TableOf({"method"}, {"perplexity"}, "a"));
  EXPECT_EQ(table.rows(1).cells(0).count(), 2u);
  EXPECT_EQ(table.rows(1).cells(0).trials_size(), 4);
  EXPECT_EQ(table.rows(1).cells(0).pairs(), 2u);
}

TEST_F(ComparisonTest, InfiniteResultsHaveAMeanAndNoDeviation) {
  MustAddSweep(1, "s", {{"method", {"a", "b"}}, {"seed", {"1", "2"}}});
  for (const std::string seed : {"1", "2"}) {
    MustAddTrial(1, {{"method", "a"}, {"seed", seed}}, 5);
    MustAddTrial(1, {{"method", "b"}, {"seed", seed}}, INFINITY);
  }
  const v1::TableCell cell = MustBuild(TableOf({"method"}, {"perplexity"}, "a")).rows(1).cells(0);
  EXPECT_EQ(cell.mean(), INFINITY);
  EXPECT_FALSE(cell.has_std());
  EXPECT_EQ(cell.difference(), INFINITY);
  EXPECT_FALSE(cell.has_difference_low());
  EXPECT_FALSE(cell.is_best());
}

TEST_F(ComparisonTest, BaselineThatIsNoRowIsAMistake) {
  MustAddMethods();
  v1::TableSpec spec = Methods();
  (*spec.mutable_baseline())["metod"] = TextValue("vanilla");
  EXPECT_EQ(ErrorOf(spec),
            "table.baseline: \"metod\" is not among the table's rows; did you mean \"method\"?");
  spec = Methods();
  (*spec.mutable_baseline())["method"] = TextValue("vanila");
  EXPECT_EQ(ErrorOf(spec),
            "table.baseline.method: the axis has no label \"vanila\"; did you mean \"vanilla\"?");
  (*spec.mutable_baseline())["method"].mutable_list_value()->add_values();
  EXPECT_EQ(ErrorOf(spec), "table.baseline.method: give one label");
}

TEST_F(ComparisonTest, SeveralSweepsMakeOneTable) {
  MustAddSweep(1, "old", {{"method", {"vanilla"}}, {"seed", {"1", "2"}}});
  MustAddSweep(2, "new", {{"method", {"clipped"}}, {"gamma", {"-0.1", "-0.2"}}, {"seed", {"1", "2"}}});
  for (const std::string seed : {"1", "2"}) {
    MustAddTrial(1, {{"method", "vanilla"}, {"seed", seed}}, 10 + std::stoi(seed));
    for (const std::string gamma : {"-0.1", "-0.2"})
      MustAddTrial(2, {{"method", "clipped"}, {"gamma", gamma}, {"seed", seed}}, 9 + std::stoi(seed));
  }
  v1::TableSpec spec = TableOf({"sweep", "method", "gamma"});
  const v1::Table table = MustBuild(spec, {SweepId(1), SweepId(2), SweepId(1)});
  EXPECT_THAT(table.sweeps(), ElementsAre("s-1", "s-2"));
  EXPECT_EQ(table.title(), "old");
  ASSERT_EQ(table.rows_size(), 3);
  EXPECT_THAT(table.rows(0).labels(), ElementsAre("old", "vanilla", ""));
  EXPECT_THAT(table.rows(1).labels(), ElementsAre("new", "clipped", "-0.1"));
  EXPECT_THAT(table.rows(2).labels(), ElementsAre("new", "clipped", "-0.2"));
  for (const v1::TableRow& row : table.rows()) EXPECT_EQ(row.cells(0).count(), 2u);

  v1::TableSpec without = spec;
  (*without.mutable_where())["gamma"].set_null_value({});
  EXPECT_EQ(MustBuild(without, {SweepId(1), SweepId(2)}).rows_size(), 1) << "trials without the axis";

  // An axis that the baseline has not is one of the baseline's.
  spec.mutable_rows()->erase(spec.rows().begin());
  (*spec.mutable_baseline())["method"] = TextValue("vanilla");
  const v1::Table without_gamma = MustBuild(spec, {SweepId(1), SweepId(2)});
  EXPECT_FALSE(without_gamma.rows(1).cells(0).has_difference());
  EXPECT_FALSE(without_gamma.rows(1).has_baseline_row());
  EXPECT_THAT(
      without_gamma.comparison_notes(),
      ElementsAre(
          "not compared with vanilla: clipped -0.1, clipped -0.2: no row vanilla has their gamma; vanilla "
          "has no gamma: name that in the baseline, too, without a label (gamma: null)"));
  v1::TableSpec filtered = spec;
  (*filtered.mutable_where())["method"] = TextValue("clipped");
  EXPECT_THAT(
      MustBuild(filtered, {SweepId(1), SweepId(2)}).comparison_notes(),
      ElementsAre("not compared with vanilla: clipped -0.1, clipped -0.2: the table has no row vanilla; does "
                  "`where` leave it out?"));
  (*spec.mutable_baseline())["gamma"].set_null_value({});
  const v1::Table both = MustBuild(spec, {SweepId(1), SweepId(2)});
  EXPECT_THAT(both.baseline(), ElementsAre("vanilla", ""));
  ASSERT_EQ(both.rows_size(), 3);
  EXPECT_FALSE(both.rows(0).cells(0).has_difference());
  for (const int row : {1, 2}) {
    EXPECT_EQ(both.rows(row).cells(0).difference(), -1);
    EXPECT_EQ(both.rows(row).cells(0).pairs(), 2u);
  }
}

TEST_F(ComparisonTest, CellsOfWhichNothingStartedAreNotRun) {
  MustAddSweep(1, "s", {{"method", {"a", "b", "c"}}, {"seed", {"1"}}});
  MustAddTrial(1, {{"method", "a"}, {"seed", "1"}}, std::nullopt);
  MustAddTrial(1, {{"method", "b"}, {"seed", "1"}}, std::nullopt);
  MustAddTrial(1, {{"method", "c"}, {"seed", "1"}}, 5);
  // Trained, waits for its evaluation: neither runs nor has a result.
  MustApply(Start(90, 3), Checkpoint(90, 9, true), End(90, v1::SUCCEEDED));
  v1::TableSpec spec = TableOf({"method"});
  v1::TableColumn* none = spec.add_columns();
  none->set_measurement("perplexity");
  (*none->mutable_where())["seed"].set_null_value({});
  const v1::Table table = MustBuild(spec);
  EXPECT_TRUE(table.rows(0).cells(0).not_run());
  EXPECT_FALSE(table.rows(1).cells(0).not_run());
  EXPECT_FALSE(table.rows(2).cells(0).not_run());
  EXPECT_TRUE(table.rows(2).cells(1).not_run()) << "no trial is of the cell";
}

TEST_F(ComparisonTest, SymbolsAreThoseOfTheSchema) {
  SweepRow row = Sweep(1);
  row.spec.Clear();
  row.spec.set_name("gammas");
  v1::Axis* gamma = row.spec.add_axes();
  gamma->set_name("lower limit");
  gamma->set_field("attention.softmax.clipped.gamma");
  for (const double value : {-0.1, -0.2}) gamma->add_values()->set_number_value(value);
  MustApply(row);
  v1::TableSpec spec = TableOf({"lower limit", "pi_init", "corpus"});
  const v1::Table table = MustBuild(spec);
  EXPECT_THAT(table.row_symbols(), ElementsAre("\\gamma", "\\pi_{init}", ""));
  EXPECT_EQ(table.caption(), "gammas");
  EXPECT_EQ(table.label(), "tab:gammas");
  EXPECT_THAT(table.baseline(), IsEmpty());
  spec.set_caption("Gammas");
  spec.set_label("tab:g");
  EXPECT_EQ(MustBuild(spec).caption(), "Gammas");
  EXPECT_EQ(MustBuild(spec).label(), "tab:g");
}

TEST_F(ComparisonTest, RowsOfTwoEnginesAreNamedWithWhatMakesTheDifference) {
  MustAddSweep(1, "biases", {{"key_value_bias in words", {"no", "yes"}}, {"seed", {"1"}}});
  MustAddTrial(1, {{"key_value_bias in words", "no"}, {"seed", "1"}}, 10);
  v1::TableSpec spec = TableOf({"key_value_bias in words"});
  EXPECT_THAT(MustBuild(spec).comparison_notes(), IsEmpty());
  more_of_specs_ = R"(,"attention":{"key_value_bias":true})";
  MustAddTrial(1, {{"key_value_bias in words", "yes"}, {"seed", "1"}}, 9);
  EXPECT_THAT(MustBuild(spec).comparison_notes(),
              ElementsAre("trained by two engines, which round in another order: REFERENCE those with "
                          "key_value_bias, FUSED the others; training.engine: REFERENCE in base gives one"));
  (*spec.mutable_where())["key_value_bias in words"] = TextValue("yes");
  EXPECT_THAT(MustBuild(spec).comparison_notes(), IsEmpty()) << "all by one";
}

TEST_F(ComparisonTest, RowsOfAScriptAreTrainedByReference) {
  MustAddSweep(1, "scripts", {{"softmax script", {"no", "yes"}}, {"seed", {"1"}}});
  MustAddTrial(1, {{"softmax script", "no"}, {"seed", "1"}}, 10);
  more_of_specs_ = R"(,"attention":{"softmax":{"script":{"file":"/a.pt"}}})";
  MustAddTrial(1, {{"softmax script", "yes"}, {"seed", "1"}}, 9);
  EXPECT_THAT(MustBuild(TableOf({"softmax script"})).comparison_notes(),
              ElementsAre("trained by two engines, which round in another order: REFERENCE those with "
                          "softmax_script, FUSED the others; training.engine: REFERENCE in base gives one"));
}

TEST_F(ComparisonTest, SmoothingOfBertIsNotDeployable) {
  MustAddSweep(1, "smoothing", {{"smoothing", {"no", "yes"}}, {"seed", {"1"}}});
  MustAddTrial(1, {{"smoothing", "no"}, {"seed", "1"}}, 10);
  EXPECT_THAT(MustBuild(TableOf({"smoothing"})).comparison_notes(), IsEmpty());
  more_of_specs_ = R"(,"model":{"bert":{}},"quantization":{"smoothing":{"alpha":0.5}})";
  MustAddTrial(1, {{"smoothing", "yes"}, {"seed", "1"}}, 9);
  EXPECT_THAT(MustBuild(TableOf({"smoothing"})).comparison_notes(),
              ElementsAre(testing::StartsWith("quantization.smoothing of model.bert is not deployable: ")));
}

}  // namespace
}  // namespace inlier
