// The columns that programs of one's own add to the views, as their sweeps are stored.
#include <algorithm>
#include <set>

#include "coordinator/store/views/param_view.h"
#include "spec/program/measurement_list.h"
#include "spec/program/program_columns.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

class ProgramViewsTest : public StoreTest {
 protected:
  static v1::ProgramUse Program(const std::vector<std::string>& parameters,
                                const std::vector<std::string>& measurements,
                                const std::string& name = "mygpt") {
    v1::ProgramUse use;
    use.set_name(name);
    use.mutable_description()->set_name(name);
    use.mutable_description()->add_command("./train");
    for (const std::string& one : parameters)
      (*use.mutable_description()->mutable_parameters())[one].set_type(v1::ProgramParameter::NUMBER);
    for (const std::string& one : measurements)
      (*use.mutable_description()->mutable_measurements())[one].set_better(v1::ProgramMeasurement::LOWER);
    return use;
  }
  static SweepRow SweepOf(int id, const v1::ProgramUse& use) {
    SweepRow row = Sweep(id, "s" + std::to_string(id));
    *row.spec.mutable_program() = use;
    return row;
  }
  // Trial `id` of sweep `id` with its result: what the training and the evaluation measured.
  void MustRun(int id, const std::string& program,
               const std::vector<std::pair<std::string, double>>& of_training,
               const std::vector<std::pair<std::string, double>>& of_evaluation = {}) {
    const int train = 2 * id - 1, evaluate = 2 * id;
    MustApply(Train(train, program),
              Evaluate(evaluate, train, R"({"program_evaluation":{"parameters":{"bits":8}}})"),
              Trial(id, id, 0, train, evaluate), Start(static_cast<Token>(train), train));
    for (const auto& [name, value] : of_training) MustApply(Final(static_cast<Token>(train), name, value));
    MustApply(Checkpoint(static_cast<Token>(train), 200, true), End(static_cast<Token>(train), v1::SUCCEEDED),
              Start(static_cast<Token>(evaluate), evaluate));
    for (const auto& [name, value] : of_evaluation)
      MustApply(Final(static_cast<Token>(evaluate), name, value));
    MustApply(End(static_cast<Token>(evaluate), v1::SUCCEEDED), TrialIs(id, v1::SUCCEEDED));
  }
};

TEST_F(ProgramViewsTest, AParameterAndAMeasurementAreColumnsOnceTheSweepIsStored) {
  // Both readers were there before.
  EXPECT_THAT(Rows("SELECT lr FROM trials")[0], HasSubstr("no such column: lr"));
  EXPECT_FALSE(reader_->Select("SELECT lr FROM trials").ok());
  v1::ProgramUse use = Program({"optimizer.lr", "noise"}, {"score", "bleu"});
  auto& parameters = *use.mutable_description()->mutable_parameters();
  parameters["noise"].set_incidental(true);
  parameters["bits"].set_type(v1::ProgramParameter::INTEGER);
  parameters["bits"].set_read_by(v1::ProgramParameter::EVALUATION);
  (*use.mutable_description()->mutable_measurements())["bleu"].set_reported_by(
      v1::ProgramParameter::EVALUATION);
  MustApply(SweepOf(1, use));
  MustRun(
      1,
      R"({"seed":3,"program":{"name":"mygpt","parameters":{"optimizer.lr":0.5},"incidental":{"noise":2}}})",
      {{"score", 7}}, {{"bleu", 9}});
  const std::string sql = "SELECT trial, lr, noise, bits, seed, score, bleu FROM results";
  EXPECT_THAT(Rows(sql), ElementsAre("t-1|0.5|2|8|3|7|9"));
  EXPECT_THAT(Rows("SELECT lr FROM trials"), ElementsAre("0.5"));
  EXPECT_THAT(Rows("SELECT score FROM distinct_results"), ElementsAre("7"));
  EXPECT_EQ(Real(reader_->Select("SELECT lr FROM trials")->rows[0][0]), 0.5);
  EXPECT_THAT(Rows("SELECT lrr FROM trials")[0], HasSubstr("did you mean \"lr\"?"));
  Reopen();
  EXPECT_THAT(Rows(sql), ElementsAre("t-1|0.5|2|8|3|7|9"));
  EXPECT_EQ(database_->connection().execAndGet("SELECT lr FROM trials").getDouble(), 0.5) << "with sqlite3";
}

TEST_F(ProgramViewsTest, AQueryThatRunsMeanwhileGoesOn) {
  MustApply(Sweep(1));
  bool stored = false;
  const absl::Status read = reader_->ForEach("SELECT value FROM trials RIGHT JOIN json_each('[1,2,3]')", {},
                                             [&](const std::vector<SqlValue>&) {
                                               if (!std::exchange(stored, true))
                                                 MustApply(SweepOf(2, Program({"lr"}, {})));
                                               return absl::OkStatus();
                                             });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_TRUE(stored);
  EXPECT_TRUE(reader_->Select("SELECT lr FROM trials").ok());
}

TEST_F(ProgramViewsTest, ProgramsShareColumnsWithEachOtherAndWithOurs) {
  MustApply(SweepOf(1, Program({"lr", "gamma"}, {"perplexity", "x"}, "first")));
  MustApply(SweepOf(2, Program({"Lr", "x"}, {"score"}, "second")));
  MustApply(Sweep(3, "ours"));
  MustRun(1, R"({"seed":1,"program":{"parameters":{"lr":0.5,"gamma":4}}})", {{"perplexity", 3}, {"x", 11}});
  MustRun(2, R"({"seed":1,"program":{"parameters":{"Lr":0.25,"x":12}}})", {{"score", 8}});
  MustRun(3, R"({"seed":1,"attention":{"softmax":{"clipped":{"gamma":-0.03}}}})", {}, {{"perplexity", 5}});
  EXPECT_THAT(Rows("SELECT trial, lr, gamma, perplexity, x, score FROM results ORDER BY trial"),
              ElementsAre("t-1|0.5|4|3|11|NULL", "t-2|0.25|NULL|NULL|12|8", "t-3|NULL|-0.03|5|NULL|NULL"));
}

TEST_F(ProgramViewsTest, ADescriptionThatGrowsAddsItsColumns) {
  MustApply(SweepOf(1, Program({"lr"}, {})));
  EXPECT_THAT(Rows("SELECT count(lr) FROM trials"), ElementsAre("0"));
  SweepEdited edited{.id = SweepId(1),
                     .spec = SweepOf(1, Program({"lr", "depth"}, {"score"})).spec,
                     .points = 4,
                     .trials = 4};
  MustApply(edited);
  EXPECT_THAT(Rows("SELECT count(depth), count(score) FROM results"), ElementsAre("0|0"));
}

TEST_F(ProgramViewsTest, TheSourceOfAProgramIsStoredOnceForEachDigest) {
  const auto program = [](const std::string& digest, const std::string& commit, const std::string& diff) {
    v1::ProgramUse use = Program({"lr"}, {});
    use.set_digest(digest);
    use.mutable_source()->set_commit(commit);
    use.mutable_source()->set_diff(diff);
    return use;
  };
  MustApply(SweepOf(1, program("d1", "c1", "+1\n")), SweepOf(2, program("d1", "c2", "")),
            SweepOf(3, program("d2", "c2", "")), SweepOf(4, Program({"lr"}, {})));
  const std::string sql = "SELECT digest, program, commit_id, diff FROM program_sources ORDER BY digest";
  EXPECT_THAT(Rows(sql), ElementsAre("d1|mygpt|c1|+1\n", "d2|mygpt|c2|"));
  EXPECT_THAT(Rows("SELECT count(*) FROM sweeps WHERE spec LIKE '%source%' OR spec LIKE '%c1%'"),
              ElementsAre("0"));
  // One that was not in a repository before.
  MustApply(SweepEdited{
      .id = SweepId(4), .spec = SweepOf(4, program("d4", "c4", "")).spec, .points = 4, .trials = 4});
  EXPECT_THAT(Rows("SELECT commit_id FROM program_sources WHERE digest = 'd4'"), ElementsAre("c4"));
  Reopen();
  EXPECT_THAT(Rows("SELECT count(*) FROM program_sources"), ElementsAre("3"));
}

TEST_F(ProgramViewsTest, ABatchThatFailsAddsNoColumn) {
  EXPECT_FALSE(
      Apply(SweepOf(1, Program({"lr"}, {})), SweepChange{.id = SweepId(9), .state = v1::COMPLETE}).ok());
  EXPECT_THAT(Rows("SELECT lr FROM trials")[0], HasSubstr("no such column: lr"));
  MustApply(SweepOf(1, Program({"lr"}, {})));
  EXPECT_THAT(Rows("SELECT count(lr) FROM trials"), ElementsAre("0"));
}

TEST_F(ProgramViewsTest, WhatAForeignFileHasInPlaceOfADescriptionIsLeftOut) {
  MustApply(SweepOf(1, Program({"lr"}, {})));
  Damage(
      "UPDATE sweep SET spec = json_set(spec, '$.program.description.parameters', "
      "json('{\"a\\\" AS b, (SELECT 1\": {\"type\": \"NUMBER\"}}'))");
  Reopen();
  EXPECT_THAT(Rows("SELECT count(*) FROM trials"), ElementsAre("0"));
  EXPECT_THAT(Rows("SELECT lr FROM trials")[0], HasSubstr("no such column: lr"));
}

TEST_F(ProgramViewsTest, TheLargestProgramsFit) {
  for (int i = 1; i <= 3; ++i) {
    std::vector<std::string> parameters, measurements;
    for (int j = 0; j < 1000; ++j) parameters.push_back("p" + std::to_string(i) + "_" + std::to_string(j));
    for (int j = 0; j < 500; ++j) measurements.push_back("m" + std::to_string(i) + "_" + std::to_string(j));
    MustApply(SweepOf(i, Program(parameters, measurements)));
  }
  EXPECT_THAT(Rows("SELECT count(p1_999), count(m1_499) FROM results"), ElementsAre("0|0"));
  const std::string why =
      "no such column: p3_999; the views have columns for 1000 parameters of programs, and none for p3_999 "
      "of "
      "mygpt; query it as spec->>'$.program.parameters.\"p3_999\"' of the view trials";
  EXPECT_THAT(Rows("SELECT p3_999 FROM trials"), ElementsAre("INVALID_ARGUMENT: SQL: " + why));
  EXPECT_EQ(reader_->Select("SELECT p3_999 FROM results").status(), absl::InvalidArgumentError(why));
  EXPECT_THAT(Rows("SELECT p1_0 FROM failures")[0], HasSubstr("no such column: p1_0; known: trial, sweep, "));
  EXPECT_THAT(Rows("SELECT count(spec->>'$.program.parameters.\"p3_999\"') FROM trials"), ElementsAre("0"));
  Reopen();
  EXPECT_THAT(Rows("SELECT count(p1_0) FROM trials"), ElementsAre("0"));
}

// A function of SQLite has at most 127 arguments.
TEST_F(ProgramViewsTest, ManyGroupsHaveOneColumn) {
  for (int i = 1; i <= 130; ++i) MustApply(SweepOf(i, Program({"g" + std::to_string(i) + ".rate"}, {})));
  MustRun(1, R"({"program":{"name":"mygpt","parameters":{"g1.rate":0.5}}})", {{"score", 7}});
  EXPECT_THAT(Rows("SELECT rate FROM results"), ElementsAre("0.5"));
}

// Their names are refused in a description (CheckColumns).
TEST_F(ProgramViewsTest, TheFixedColumnsAreThoseThatTheViewsHave) {
  std::set<std::string> fixed, known;
  for (const View& view : UserViews()) {
    if (view.name != "trials" && view.name != "results") continue;
    for (const ViewColumn& column : view.columns) fixed.insert(column.name);
  }
  for (const SpecColumn& column : SpecColumns()) fixed.erase(column.name);
  for (const MeasurementInfo& info : Measurements()) fixed.erase(std::string(info.name));
  EXPECT_THAT(FixedColumns(), UnorderedElementsAreArray(fixed));
}

}  // namespace
}  // namespace inlier
