// Tables over sweeps of programs of one's own, from a real database.
#include "tests/results/tables/table_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProgramTableTest : public TableTest {
 protected:
  // A trial for each of the step sizes; the higher score is better.
  void MustAddProgram(int id, const std::vector<std::pair<double, double>>& scores,
                      v1::ProgramMeasurement::Better better = v1::ProgramMeasurement::HIGHER) {
    SweepRow row = Sweep(id, "s" + std::to_string(id));
    v1::ProgramUse& use = *row.spec.mutable_program();
    use.set_name("mygpt");
    use.set_digest(std::string(64, '1'));
    use.mutable_description()->set_name("mygpt");
    use.mutable_description()->add_command("./train");
    v1::ProgramParameter& lr = (*use.mutable_description()->mutable_parameters())["optimizer.lr"];
    lr.set_type(v1::ProgramParameter::NUMBER);
    lr.set_symbol("\\eta");
    (*use.mutable_description()->mutable_measurements())["score"].set_better(better);
    row.spec.add_axes()->set_field("optimizer.lr");
    row.spec.mutable_axes(0)->set_name("rate");
    for (const auto& [value, score] : scores) row.spec.mutable_axes(0)->add_values()->set_number_value(value);
    MustApply(row);
    int point = 0;
    for (const auto& [value, score] : scores) {
      const int trial = ++trials_, stage = 2 * trial - 1;
      const auto token = static_cast<Token>(stage);
      MustApply(Train(stage, R"({"seed":1,"program":{"parameters":{"optimizer.lr":)" + std::to_string(value) +
                                 "}}}"),
                Evaluate(stage + 1, stage, "{}"),
                Trial(trial, id, point++, stage, stage + 1,
                      nlohmann::json({{"rate", std::to_string(value)}}).dump()),
                Start(token, stage), Final(token, "score", score), Checkpoint(token, 9, true),
                End(token, v1::SUCCEEDED), Start(token + 1, stage + 1), End(token + 1, v1::SUCCEEDED),
                TrialIs(trial, v1::SUCCEEDED));
    }
  }
};

TEST_F(ProgramTableTest, ItsMeasurementsAndColumnsMakeATable) {
  MustAddProgram(1, {{0.5, 3}, {0.25, 7}});
  v1::TableSpec spec = TableOf({"lr"}, {"score"});
  spec.set_bold(true);
  const v1::Table table = MustBuild(spec);
  ASSERT_EQ(table.rows_size(), 2);
  EXPECT_THAT(table.row_symbols(), ElementsAre("\\eta"));
  for (const v1::TableRow& row : table.rows())
    EXPECT_EQ(row.cells(0).is_best(), row.cells(0).mean() == 7) << "the higher one is the better one";
  EXPECT_THAT(ErrorOf(TableOf({"lr"}, {"scor"})), HasSubstr("did you mean \"score\"?"));
  EXPECT_THAT(ErrorOf(TableOf({"gamma"}, {"score"})), HasSubstr("neither an axis of the sweep nor a column"));
}

TEST_F(ProgramTableTest, ProgramsStandBesideOursUnlessTheyDisagree) {
  MustAddProgram(1, {{0.5, 3}});
  MustAddSweep(2, "ours", {{"method", {"vanilla"}}});
  MustAddTrial(2, {{"method", "vanilla"}}, 12);
  const v1::Table table =
      MustBuild(TableOf({"sweep", "gamma"}, {"score", "perplexity"}), {SweepId(1), SweepId(2)});
  ASSERT_EQ(table.rows_size(), 2);
  EXPECT_EQ(table.rows(0).cells(0).mean(), 3);
  EXPECT_EQ(table.rows(1).cells(1).mean(), 12);
  MustAddProgram(3, {{0.5, 3}}, v1::ProgramMeasurement::LOWER);
  EXPECT_THAT(
      std::string(
          BuildTable(*reader_, {SweepId(1), SweepId(3)}, TableOf({"lr"}, {"score"})).status().message()),
      HasSubstr("score: the better number is higher for program mygpt (sweep s1) and lower"));
}

}  // namespace
}  // namespace inlier
