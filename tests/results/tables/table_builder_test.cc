// Tables from a real database: the trials of a cell, mean and deviation, order of rows, published
// figures, and the messages.
#include "results/tables/table_builder.h"

#include <cmath>

#include "cli/tables/table_writer.h"
#include "nlohmann/json.hpp"
#include "tests/results/tables/table_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

google::protobuf::Value Number(double number) {
  google::protobuf::Value value;
  value.set_number_value(number);
  return value;
}
class TableBuilderTest : public TableTest {
 protected:
  // A sweep over method (vanilla, clipped), bits (8, 6) and seed (1, 2), all eight trials with results:
  // perplexity = 10 * method + bits + seed / 10.
  void MustAddSweep(v1::SweepSpec spec = Spec()) {
    SweepRow sweep = Sweep(1);
    sweep.spec = std::move(spec);
    MustApply(sweep);
    int trial = 0;
    for (const std::string method : {"vanilla", "clipped"}) {
      for (const int bits : {8, 6}) {
        for (const int seed : {1, 2}) {
          ++trial;
          const std::string softmax =
              method == "vanilla" ? R"({"vanilla":{}})" : R"({"clipped":{"gamma":-0.03,"zeta":1.0}})";
          const std::string train = R"({"seed":)" + std::to_string(seed) + R"(,"model":)" + model_ +
                                    R"(,"attention":{"softmax":)" + softmax + R"(,"gate":{"none":{}}})" +
                                    recipe_ + "}";
          const std::string evaluate = R"({"quantization":{"weights":{"bits":)" + std::to_string(bits) +
                                       R"(},"activations":{"bits":8}}})";
          const std::string labels = R"({"method":")" + method + R"(","bits":")" + std::to_string(bits) +
                                     R"(","seed":")" + std::to_string(seed) + "\"}";
          MustApply(Train(2 * trial - 1, train), Evaluate(2 * trial, 2 * trial - 1, evaluate),
                    Trial(trial, 1, trial - 1, 2 * trial - 1, 2 * trial, labels));
          const Token token = static_cast<Token>(2 * trial);
          MustApply(Start(token - 1, 2 * trial - 1), Checkpoint(token - 1, 9, true),
                    End(token - 1, v1::SUCCEEDED), Start(token, 2 * trial));
          if (trial == skip_) continue;
          MustApply(Final(token, "perplexity", (method == "vanilla" ? 10 : 20) + bits + seed / 10.0),
                    Final(token, "max_inf_norm", trial), End(token, v1::SUCCEEDED),
                    TrialIs(trial, v1::SUCCEEDED));
        }
      }
    }
  }

  static v1::SweepSpec Spec() {
    v1::SweepSpec spec;
    spec.set_name("gamma");
    v1::Axis* method = spec.add_axes();
    method->set_name("method");
    v1::Variant* vanilla = method->add_variants();
    vanilla->set_label("vanilla");
    (*vanilla->mutable_set()->mutable_fields())["attention.softmax.vanilla"].mutable_struct_value();
    v1::Variant* clipped = method->add_variants();
    clipped->set_label("clipped");
    (*clipped->mutable_set()->mutable_fields())["attention.softmax.clipped.gamma"].set_number_value(-0.03);
    v1::Axis* bits = spec.add_axes();
    bits->set_field("quantization.weights.bits");
    bits->set_name("bits");
    for (const double value : {8.0, 6.0}) bits->add_values()->set_number_value(value);
    v1::Axis* seed = spec.add_axes();
    seed->set_field("seed");
    for (const double value : {1.0, 2.0}) seed->add_values()->set_number_value(value);
    return spec;
  }

  v1::TableSpec TwoColumns(const std::string& published = "") {
    v1::TableSpec spec;
    spec.add_rows("method");
    for (const double bits : {8.0, 6.0}) {
      v1::TableColumn* column = spec.add_columns();
      column->set_measurement("perplexity");
      column->set_heading("W" + std::to_string(static_cast<int>(bits)));
      (*column->mutable_where())["bits"] = Number(bits);
      column->set_decimals(3);
    }
    if (!published.empty()) spec.set_published(published);
    return spec;
  }

  std::string TextOf(const v1::TableSpec& spec) {
    const auto table = BuildTable(*reader_, {SweepId(1)}, spec);
    return table.ok() ? WriteTable(*table, TableFormat::kText, {.utf8 = false}) : table.status().ToString();
  }

  int skip_ = 0;
  // BERT-base as Bondarenko et al. train it.
  std::string model_ =
      R"({"bert":{"preset":"base","layers":12,"hidden_size":768,"heads":12,"ffn_size":3072}})";
  std::string recipe_ =
      R"(,"dropout":0.1,"data":{"text":{"corpus":"bookcorpus-wiki","tokenizer":{"wordpiece":{}}}},"training":)"
      R"({"steps":1000000,"batch_size":256,"optimizer":{"adamw":{"learning_rate":1e-4}},)"
      R"("schedule":{"linear":{},"warmup_steps":10000}})";
};

TEST_F(TableBuilderTest, CellsAreMeanAndSampleDeviationOverTheSeeds) {
  MustAddSweep();
  const auto table = MustBuild(TwoColumns());
  EXPECT_EQ(table.title(), "gamma");
  EXPECT_THAT(table.row_headings(), ElementsAre("method"));
  EXPECT_THAT(table.column_headings(), ElementsAre("W8", "W6"));
  ASSERT_EQ(table.rows_size(), 2);
  const v1::TableCell& cell = table.rows(0).cells(0);
  EXPECT_DOUBLE_EQ(cell.mean(), 18.15);
  EXPECT_NEAR(cell.std(), std::sqrt(0.005), 1e-12);
  EXPECT_EQ(cell.count(), 2u);
  EXPECT_EQ(cell.diverged(), 0u);
  EXPECT_EQ(cell.missing(), 0u);
  EXPECT_THAT(cell.trials(), ElementsAre("t-1", "t-2"));
  EXPECT_EQ(TextOf(TwoColumns()),
            "gamma\n\n"
            "method                W8               W6\n"
            "-------  ---------------  ---------------\n"
            "vanilla  18.150 +- 0.071  16.150 +- 0.071\n"
            "clipped  28.150 +- 0.071  26.150 +- 0.071\n"
            "\nn = 2\n");
}

TEST_F(TableBuilderTest, DivergedAndMissingTrialsAreCountedApart) {
  skip_ = 2;
  MustAddSweep();
  MustApply(Sweep(2), Train(31), Trial(31, 1, 30, 31, 31, R"({"method":"vanilla","bits":"8","seed":"3"})"));
  MustApply(Start(90, 31), End(90, v1::DIVERGED), TrialIs(31, v1::DIVERGED));
  const auto table = MustBuild(TwoColumns());
  const v1::TableCell& cell = table.rows(0).cells(0);
  EXPECT_EQ(cell.count(), 1u);
  EXPECT_EQ(cell.diverged(), 1u);
  EXPECT_EQ(cell.missing(), 1u);
  EXPECT_FALSE(cell.has_std());
  EXPECT_DOUBLE_EQ(cell.mean(), 18.1);
  EXPECT_THAT(cell.trials(), ElementsAre("t-1", "t-2", "t-31"));
}

// A trial at another point of the grid whose evaluation is that of trial 1: the same number, not a second one.
TEST_F(TableBuilderTest, ResultThatTrialsShareCountsOnce) {
  MustAddSweep();
  MustApply(Trial(31, 1, 30, 1, 2, R"({"method":"vanilla","bits":"8","seed":"3"})"),
            Trial(32, 1, 31, 1, 2, R"({"method":"vanilla","bits":"8","seed":"4"})"));
  MustApply(TrialIs(31, v1::SUCCEEDED), TrialIs(32, v1::CANCELLED));
  const auto table = MustBuild(TwoColumns());
  const v1::TableCell& cell = table.rows(0).cells(0);
  EXPECT_EQ(cell.count(), 2u);
  EXPECT_EQ(cell.missing(), 0u);
  EXPECT_DOUBLE_EQ(cell.mean(), 18.15);
  EXPECT_NEAR(cell.std(), std::sqrt(0.005), 1e-12);
  EXPECT_THAT(cell.trials(), ElementsAre("t-1", "t-2", "t-31", "t-32"));
}

// Two evaluations of one training: its seconds are one number.
TEST_F(TableBuilderTest, MeasurementOfATrainingCountsOnceForEachTraining) {
  MustApply(Sweep(1), Train(1), Evaluate(2, 1), Evaluate(3, 1), Trial(1, 1, 0, 1, 2), Trial(2, 1, 1, 1, 3));
  MustApply(Start(1, 1), Final(1, "train_seconds", 12.5), Checkpoint(1, 9, true), End(1, v1::SUCCEEDED));
  for (const int stage : {2, 3}) {
    const Token token = static_cast<Token>(stage);
    MustApply(Start(token, stage), Final(token, "perplexity", stage), End(token, v1::SUCCEEDED),
              TrialIs(stage - 1, v1::SUCCEEDED));
  }
  const auto table = MustBuild(TableOf({}, {"train_seconds", "perplexity"}));
  EXPECT_EQ(table.rows(0).cells(0).count(), 1u);
  EXPECT_FALSE(table.rows(0).cells(0).has_std());
  EXPECT_EQ(table.rows(0).cells(1).count(), 2u);
}

TEST_F(TableBuilderTest, RowsFollowTheAxesNotTheAlphabetOrTheTrials) {
  MustAddSweep();
  EXPECT_EQ(TextOf(TableOf({"bits", "method"}, {"max_inf_norm"})),
            "gamma\n\n"
            "bits  method   max_inf_norm\n"
            "----  -------  ------------\n"
            "8     vanilla  1.50 +- 0.71\n"
            "8     clipped  5.50 +- 0.71\n"
            "6     vanilla  3.50 +- 0.71\n"
            "6     clipped  7.50 +- 0.71\n"
            "\nn = 2\n");
}

TEST_F(TableBuilderTest, ColumnsOfTheViewServeAsRowsAndConditions) {
  MustAddSweep();
  v1::TableSpec spec = TableOf({"softmax"});
  (*spec.mutable_where())["weight_bits"] = Number(6);
  (*spec.mutable_where())["seed"] = Number(2);
  EXPECT_EQ(TextOf(spec),
            "gamma\n\n"
            "softmax  perplexity\n"
            "-------  ----------\n"
            "vanilla       16.20\n"
            "clipped       26.20\n"
            "\nn = 1\n");
}

TEST_F(TableBuilderTest, ConditionMayBeAListOrNull) {
  MustAddSweep();
  v1::TableSpec spec;
  spec.add_rows("method");
  v1::TableColumn* column = spec.add_columns();
  column->set_measurement("perplexity");
  google::protobuf::Value list;
  *list.mutable_list_value()->add_values() = Number(8);
  *list.mutable_list_value()->add_values() = TextValue("6");
  (*column->mutable_where())["bits"] = list;
  (*spec.mutable_where())["gamma"].set_null_value(google::protobuf::NULL_VALUE);
  const auto table = MustBuild(spec);
  ASSERT_EQ(table.rows_size(), 1);
  EXPECT_THAT(table.rows(0).labels(), ElementsAre("vanilla"));
  EXPECT_EQ(table.rows(0).cells(0).count(), 4u);
}

TEST_F(TableBuilderTest, SweepWithoutATableGetsAllAxesButTheSeeds) {
  MustAddSweep();
  const auto table = MustBuild({});
  EXPECT_THAT(table.row_headings(), ElementsAre("method", "bits"));
  EXPECT_THAT(table.column_headings(), ElementsAre("perplexity", "max_inf_norm", "avg_kurtosis"));
  EXPECT_EQ(table.rows_size(), 4);
  EXPECT_EQ(table.rows(0).cells(0).count(), 2u);
  EXPECT_EQ(table.rows(0).cells(2).missing(), 2u);
}

TEST_F(TableBuilderTest, SweepsOwnTableIsTheDefault) {
  v1::SweepSpec spec = Spec();
  spec.mutable_table()->set_title("Mine");
  spec.mutable_table()->add_columns()->set_measurement("perplexity");
  MustAddSweep(spec);
  EXPECT_EQ(TextOf({}), "Mine\n\n   perplexity\n-------------\n22.15 +- 5.45\n\nn = 8\n");
}

TEST_F(TableBuilderTest, PublishedFiguresAreNextToTheCells) {
  MustAddSweep();
  const auto table = MustBuild(TwoColumns("bondarenko2023/1"));
  EXPECT_EQ(table.rows(0).cells(0).published_mean(), 1294);
  EXPECT_EQ(table.rows(0).cells(0).published_std(), 1046);
  EXPECT_EQ(table.rows(1).cells(0).published_mean(), 4.55);
  EXPECT_FALSE(table.rows(0).cells(1).has_published_mean());  // The paper's table has no W6A8.
}

// Table 2 prints the best gamma, -0.025; the trials have -0.03.
TEST_F(TableBuilderTest, FigureOfAnotherSettingIsLeftOut) {
  MustAddSweep();
  const auto table = MustBuild(TwoColumns("bondarenko2023/2"));
  EXPECT_EQ(table.rows(0).cells(0).published_mean(), 1294);
  EXPECT_FALSE(table.rows(1).cells(0).has_published_mean());
}

TEST_F(TableBuilderTest, FigureOfAnotherModelIsLeftOut) {
  model_ = R"({"bert":{"preset":"base","layers":2,"hidden_size":768,"heads":12,"ffn_size":3072}})";
  MustAddSweep();
  const auto table = MustBuild(TwoColumns("bondarenko2023/1"));
  for (const v1::TableRow& row : table.rows()) {
    for (const v1::TableCell& cell : row.cells()) EXPECT_FALSE(cell.has_published_mean());
  }
}

TEST_F(TableBuilderTest, FigureOfAnotherSettingIsShownWithItsDifferencesWhereTheTableAsksForIt) {
  model_ = R"({"bert":{"preset":"base","layers":2,"hidden_size":768,"heads":12,"ffn_size":3072}})";
  MustAddSweep();
  v1::TableSpec spec = TwoColumns("other:bondarenko2023/2");
  const auto table = MustBuild(spec);
  EXPECT_EQ(table.rows(0).cells(0).published_mean(), 1294);
  EXPECT_THAT(table.rows(0).cells(0).published_differs_in(), ElementsAre("model"));
  EXPECT_EQ(table.rows(1).cells(0).published_mean(), 4.52);
  EXPECT_THAT(table.rows(1).cells(0).published_differs_in(), ElementsAre("model", "gamma"));
  EXPECT_FALSE(table.rows(0).cells(1).has_published_mean());
  EXPECT_THAT(TextOf(spec), ::testing::HasSubstr("[1294 +- 1046]^a"));
  spec.set_published("other:bondarenko2023/22");
  EXPECT_THAT(TextOf(spec), ::testing::StartsWith("INVALID_ARGUMENT: table.published: no published table"));
}

// f1 of a language model; a failed, a cancelled and a waiting trial.
TEST_F(TableBuilderTest, MissingValuesAreCountedByTheirReason) {
  MustAddSweep();
  for (int i = 0; i < 3; ++i) {
    MustApply(Train(31 + i),
              Trial(31 + i, 1, 30 + i, 31 + i, 31 + i,
                    R"({"method":"vanilla","bits":"8","seed":")" + std::to_string(3 + i) + "\"}"));
  }
  MustApply(TrialIs(31, v1::FAILED, "it broke"), TrialIs(32, v1::CANCELLED));
  v1::TableSpec spec = TwoColumns();
  spec.mutable_columns(1)->set_measurement("f1");
  const auto table = MustBuild(spec);
  const v1::TableCell& cell = table.rows(0).cells(0);
  EXPECT_EQ(cell.count(), 2u);
  EXPECT_EQ(cell.missing(), 3u);
  EXPECT_EQ(cell.failed(), 1u);
  EXPECT_EQ(cell.cancelled(), 1u);
  EXPECT_EQ(cell.unmeasured(), 0u);
  EXPECT_EQ(table.rows(0).cells(1).missing(), 2u);
  EXPECT_EQ(table.rows(0).cells(1).unmeasured(), 2u);
}

TEST_F(TableBuilderTest, PublishedFigureNeedsAllTrialsToBeOfItsKind) {
  MustAddSweep();
  v1::TableSpec spec = TableOf({"method"});  // Both widths together.
  spec.set_published("bondarenko2023/2");
  EXPECT_FALSE(MustBuild(spec).rows(0).cells(0).has_published_mean());
}

TEST_F(TableBuilderTest, MistakesNameThePlaceAndTheNearestWord) {
  MustAddSweep();
  v1::TableSpec spec = TwoColumns();
  spec.set_rows(0, "methd");
  EXPECT_EQ(TextOf(spec),
            "INVALID_ARGUMENT: table.rows[0]: \"methd\" is neither an axis of the sweep nor a column of the "
            "view trials; did you mean "
            "\"method\"?");
  spec = TwoColumns();
  spec.mutable_columns(1)->set_measurement("perplexty");
  EXPECT_EQ(TextOf(spec),
            "INVALID_ARGUMENT: table.columns[1].measurement: \"perplexty\" is not a final measurement of a "
            "trial; did you mean \"perplexity\"?");
  spec = TwoColumns();
  (*spec.mutable_columns(0)->mutable_where())["weight_bit"] = Number(8);
  EXPECT_EQ(TextOf(spec),
            "INVALID_ARGUMENT: table.columns[0].where: \"weight_bit\" is neither an axis of the sweep nor a "
            "column of the view trials; did you "
            "mean \"weight_bits\"?");
  spec = TwoColumns();
  (*spec.mutable_where())["method"] = TextValue("cliped");
  EXPECT_EQ(
      TextOf(spec),
      "INVALID_ARGUMENT: table.where.method: the axis has no label \"cliped\"; did you mean \"clipped\"?");
  spec = TwoColumns();
  (*spec.mutable_where())["bits"] = Number(4);
  EXPECT_EQ(TextOf(spec), "INVALID_ARGUMENT: table.where.bits: the axis has no label \"4\"; known: 8, 6");
  spec = TwoColumns("bondarenko2023/22");
  EXPECT_EQ(TextOf(spec),
            "INVALID_ARGUMENT: table.published: no published table is named \"bondarenko2023/22\"; did you "
            "mean \"bondarenko2023/2\"?");
  EXPECT_EQ(BuildTable(*reader_, {SweepId(9)}, {}).status().ToString(), "NOT_FOUND: there is no sweep s-9");
}

// An axis with a range named as a piece of SQL, or as a column: its labels are those of the trials.
TEST_F(TableBuilderTest, NameOfAnAxisNeverReachesSql) {
  for (const std::string name :
       {R"(a",(WITH c(x)AS(VALUES(1)UNION ALL SELECT x FROM c)SELECT count(*)FROM c),"b)", "no \" column",
        "perplexity", "state", "'"}) {
    const TemporaryFolder folder;
    auto database = Database::Open(folder.path()).value();
    Store store(*database);
    SweepRow sweep = Sweep(1);
    v1::Axis* axis = sweep.spec.add_axes();
    axis->set_name(name);
    axis->set_field("training.optimizer.adamw.learning_rate");
    axis->mutable_range()->set_min(1e-5);
    axis->mutable_range()->set_max(1e-2);
    sweep.spec.mutable_sampling()->mutable_random()->set_trials(4);
    nlohmann::json labels;
    labels[name] = "0.001";
    ChangeBatch batch;
    batch.Add(sweep);
    batch.Add(DataRow{.id = DataId(1), .names = "{}"});
    batch.Add(Train(1));
    batch.Add(Evaluate(2, 1));
    batch.Add(Trial(1, 1, 0, 1, 2, labels.dump()));
    ASSERT_TRUE(store.Apply(batch).ok());
    Reader reader(database->path(), 1, std::chrono::seconds(5));
    v1::TableSpec spec;
    spec.add_rows(name);
    v1::TableColumn* column = spec.add_columns();
    column->set_measurement("perplexity");
    (*column->mutable_where())[name] = Number(0.001);
    const auto table = BuildTable(reader, {SweepId(1)}, spec);
    ASSERT_TRUE(table.ok()) << name << ": " << table.status();
    ASSERT_EQ(table->rows_size(), 1);
    EXPECT_THAT(table->rows(0).labels(), ElementsAre("0.001")) << name;
    EXPECT_EQ(table->rows(0).cells(0).missing(), 1u);
    EXPECT_THAT(table->rows(0).cells(0).trials(), ElementsAre("t-1"));
  }
}

class LargeTableTest : public TableBuilderTest {
 protected:
  // A sweep with so many trials, all of one stage, each with a seed of its own.
  void MustAddTrials(int trials) {
    SweepRow sweep = Sweep(1);
    sweep.points = sweep.trials = static_cast<std::uint64_t>(trials);
    v1::Axis* seed = sweep.spec.add_axes();
    seed->set_field("seed");
    for (int i = 1; i <= trials; ++i) seed->add_values()->set_number_value(i);
    MustApply(sweep, Train(1), Evaluate(2, 1));
    ChangeBatch batch;
    for (int i = 1; i <= trials; ++i)
      batch.Add(Trial(i, 1, i - 1, 1, 2, R"({"seed":")" + std::to_string(i) + "\"}"));
    ASSERT_TRUE(store_->Apply(batch).ok());
  }
  static v1::TableSpec Columns(int columns) {
    v1::TableSpec spec;
    for (int i = 0; i < columns; ++i) spec.add_columns()->set_measurement("perplexity");
    return spec;
  }
};

TEST_F(LargeTableTest, CellsNameTheirTrialsUnlessTheyAreTooMany) {
  constexpr int kTrials = 1000;
  MustAddTrials(kTrials);
  const auto some = MustBuild(Columns(500));
  EXPECT_EQ(some.rows(0).cells(499).trials_size(), kTrials);
  EXPECT_FALSE(some.has_trials_left_out());
  const auto many = MustBuild(Columns(501));
  EXPECT_EQ(many.trials_left_out(), 501u * kTrials);
  for (const v1::TableCell& cell : many.rows(0).cells()) {
    EXPECT_EQ(cell.trials_size(), 0);
    EXPECT_EQ(cell.missing(), 1u);  // All trials are of one evaluation.
  }
  EXPECT_LT(many.SpaceUsedLong(), std::size_t{1} << 20);
}

TEST_F(LargeTableTest, CellsAreBounded) {
  MustAddTrials(1000);
  v1::TableSpec spec = Columns(1000);
  spec.add_rows("seed");
  EXPECT_EQ(
      BuildTable(*reader_, {SweepId(1)}, spec).status().ToString(),
      "INVALID_ARGUMENT: the table has 1000 rows of 1001 cells; at most 1000000 cells are made: name fewer "
      "axes in rows, or fewer columns");
}

TEST_F(LargeTableTest, CallerThatGoesEndsIt) {
  MustAddTrials(1000);
  int checks = 0;
  const auto table = BuildTable(*reader_, {SweepId(1)}, Columns(900), [&checks] { return ++checks > 100; });
  EXPECT_EQ(table.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(checks, 101);
}

TEST_F(TableBuilderTest, TrialsOfOtherSweepsDoNotCount) {
  MustAddSweep();
  SweepRow other = Sweep(2);
  other.spec = Spec();
  MustApply(other);
  EXPECT_THAT(MustBuild(TwoColumns(), {SweepId(2)}).rows(), IsEmpty());
}

}  // namespace
}  // namespace inlier
