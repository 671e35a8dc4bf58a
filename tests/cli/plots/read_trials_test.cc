// Reading of trials and curves, against real SQL: every row comes, however short the answers are.
#include "cli/plots/read_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using testing::ElementsAre;

// Tables in the place of the views, and answers of at most `rows` rows, as the coordinator's limits make them.
class SmallDatabase {
 public:
  explicit SmallDatabase(int rows) : rows_(rows) {
    EXPECT_EQ(::sqlite3_open(":memory:", &connection_), SQLITE_OK);
    Run("CREATE TABLE trials(trial, sweep_id, withdrawn, point, state, labels, train_stage, evaluate_stage, "
        "gamma, "
        "optimizer)");
    Run("CREATE TABLE results(trial, sweep_id, withdrawn, state, loss, accuracy)");
    Run("CREATE TABLE curves(trial, kind, site, name, step, value)");
    Run("CREATE TABLE sites(trial, name, site, value)");
  }
  ~SmallDatabase() { ::sqlite3_close(connection_); }

  void Run(const std::string& sql) {
    char* error = nullptr;
    EXPECT_EQ(::sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error << sql;
  }

  RunQuery Queries() {
    return [this](const std::string& sql) -> absl::StatusOr<v1::QueryResponse> {
      ++queries;
      sqlite3_stmt* statement = nullptr;
      if (::sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
        return absl::InvalidArgumentError(absl::StrCat(::sqlite3_errmsg(connection_), ": ", sql));
      v1::QueryResponse response;
      while (::sqlite3_step(statement) == SQLITE_ROW) {
        if (response.rows_size() == rows_) {
          response.set_truncated(true);
          break;
        }
        v1::QueryRow* row = response.add_rows();
        for (int i = 0; i < ::sqlite3_column_count(statement); ++i) {
          v1::QueryValue* value = row->add_values();
          const int type = ::sqlite3_column_type(statement, i);
          if (type == SQLITE_INTEGER) value->set_integer(::sqlite3_column_int64(statement, i));
          if (type == SQLITE_FLOAT) value->set_real(::sqlite3_column_double(statement, i));
          if (type == SQLITE_TEXT)
            value->set_text(reinterpret_cast<const char*>(::sqlite3_column_text(statement, i)));
        }
      }
      ::sqlite3_finalize(statement);
      return response;
    };
  }

  int queries = 0;

 private:
  const int rows_;
  sqlite3* connection_ = nullptr;
};

TEST(PlotTrialsTest, AllTrialsComeInTheOrderOfTheGridWithTheirNumbers) {
  SmallDatabase database(/*rows=*/3);
  for (int i = 0; i < 11; ++i) {
    database.Run(absl::StrCat("INSERT INTO trials VALUES('t-", 20 - i, "', 's-1', 0, ", i,
                              ", 'PENDING', '{\"method\":\"a''b\",\"bits\":\"", i, "\"}', 'st-1', 'st-", i,
                              "', -0.03, NULL)"));
    if (i % 2 == 0)
      database.Run(absl::StrCat("INSERT INTO results VALUES('t-", 20 - i, "', 's-1', 0, 'SUCCEEDED', ", i,
                                ".5, NULL)"));
  }
  database.Run("INSERT INTO trials VALUES('t-1', 's-1', 1, NULL, 'PENDING', '{}', '', '', 1, '')");
  database.Run("INSERT INTO trials VALUES('t-2', 's-2', 0, 99, 'PENDING', '{}', '', '', 1, '')");
  const auto trials = ReadPlotTrials(database.Queries(), "s-1", {"gamma", "optimizer"}, {"loss", "accuracy"});
  ASSERT_TRUE(trials.ok()) << trials.status().message();
  ASSERT_EQ(trials->size(), 11u);
  for (int i = 0; i < 11; ++i) {
    const PlotTrial& trial = (*trials)[static_cast<std::size_t>(i)];
    EXPECT_EQ(trial.id, absl::StrCat("t-", 20 - i));
    EXPECT_EQ(TextOf(trial, "method"), "a'b");
    EXPECT_EQ(TextOf(trial, "bits"), absl::StrCat(i));
    EXPECT_EQ(TextOf(trial, "gamma"), "-0.03");
    EXPECT_EQ(TextOf(trial, "optimizer"), "");
    EXPECT_EQ(trial.state, i % 2 == 0 ? "SUCCEEDED" : "PENDING");
    EXPECT_EQ(std::isnan(trial.measurements[0]), i % 2 == 1);
    EXPECT_TRUE(std::isnan(trial.measurements[1]));
    if (i % 2 == 0) {
      EXPECT_EQ(trial.measurements[0], i + 0.5);
    }
  }
  EXPECT_EQ(database.queries, 4 + 2);
}

TEST(PlotTrialsTest, CurvesAreCompleteWhereAnAnswerEndsWithinOne) {
  SmallDatabase database(/*rows=*/7);
  std::vector<std::string> names;
  for (int trial = 1; trial <= 60; ++trial) {
    names.push_back(absl::StrCat("t-", trial));
    for (int step = 0; step < 5; ++step) {
      database.Run(absl::StrCat("INSERT INTO curves VALUES('t-", trial, "', 'TRAIN', '', 'train_loss', ",
                                step * 10, ", ", step == 2 ? "NULL" : absl::StrCat(trial, ".", step), ")"));
    }
  }
  database.Run("INSERT INTO curves VALUES('t-1', 'EVALUATE', '', 'train_loss', 1, 5.0)");
  database.Run("INSERT INTO curves VALUES('t-1', 'TRAIN', 'layer', 'train_loss', 1, 5.0)");
  database.Run("INSERT INTO curves VALUES('t-1', 'TRAIN', '', 'loss', 1, 5.0)");
  const auto curves = ReadCurves(database.Queries(), names, "train_loss").value();
  ASSERT_EQ(curves.size(), 60u);
  EXPECT_THAT(curves.at("t-7"), ElementsAre(std::pair(0.0, 7.0), std::pair(10.0, 7.1), std::pair(30.0, 7.3),
                                             std::pair(40.0, 7.4)));
  for (const auto& [trial, curve] : curves) EXPECT_EQ(curve.size(), 4u) << trial;
}

TEST(PlotTrialsTest, ConditionsCompareAsTablesDo) {
  PlotTrial trial;
  trial.labels = {{"gamma", "-0.03"}, {"method", "clipped"}, {"bits", ""}};
  trial.columns = {{"steps", "1500"}, {"patch_norm", "1"}};
  const auto matches = [&](const char* name, const google::protobuf::Value& value) {
    google::protobuf::Map<std::string, google::protobuf::Value> where;
    where[name] = value;
    return Matches(trial, where);
  };
  google::protobuf::Value number, text, none, truth, list;
  number.set_number_value(-0.030);
  text.set_string_value("clipped");
  none.set_null_value(google::protobuf::NULL_VALUE);
  truth.set_bool_value(true);
  EXPECT_TRUE(matches("gamma", number));
  EXPECT_TRUE(matches("method", text));
  EXPECT_FALSE(matches("gamma", text));
  EXPECT_TRUE(matches("bits", none));
  EXPECT_FALSE(matches("method", none));
  EXPECT_TRUE(matches("patch_norm", truth));
  number.set_number_value(1.5e3);
  EXPECT_TRUE(matches("steps", number));
  *list.mutable_list_value()->add_values() = number;
  *list.mutable_list_value()->add_values() = text;
  EXPECT_TRUE(matches("method", list));
  EXPECT_FALSE(matches("gamma", list));
}

TEST(PlotTrialsTest, LayersAreOfOneModuleWhichIsNamedWhereThereAreSeveral) {
  SmallDatabase database(2);
  for (const char* trial : {"t-1", "t-2"}) {
    for (int layer = 0; layer < 11; ++layer) {  // The tenth comes before the second by name.
      for (const char* module : {"output.dense", "output.LayerNorm"}) {
        database.Run(absl::StrCat("INSERT INTO sites VALUES ('", trial, "', 'inf_norm', 'bert.encoder.layer.",
                                  layer, ".", module, "', ", layer + (module[7] == 'd' ? 100 : 200), ".5)"));
      }
      database.Run(absl::StrCat("INSERT INTO sites VALUES ('", trial, "', 'layer_sink_rate', 'hidden.",
                                layer + 1, "', 0.5)"));
    }
    database.Run(
        absl::StrCat("INSERT INTO sites VALUES ('", trial, "', 'inf_norm', 'model.final_layer_norm', 7)"));
  }
  const auto found = ReadLayers(database.Queries(), {"t-1", "t-2"}, "inf_norm", "output.dense").value();
  ASSERT_EQ(found.size(), 2u);
  const Curve& curve = found.at("t-2");
  ASSERT_EQ(curve.size(), 11u);
  for (std::size_t i = 0; i < curve.size(); ++i) EXPECT_EQ(curve[i], std::pair(1.0 + i, 100.5 + i));
  EXPECT_EQ(ReadLayers(database.Queries(), {"t-1"}, "layer_sink_rate", "")->at("t-1")[10].first, 11);
  EXPECT_EQ(
      ReadLayers(database.Queries(), {"t-1"}, "inf_norm", "").status().message(),
      "site: inf_norm is measured at several modules of a layer; name one of output.LayerNorm, output.dense");
  EXPECT_EQ(ReadLayers(database.Queries(), {"t-1"}, "inf_norm", "output.dens").status().message(),
            "site: inf_norm is not measured at \"output.dens\"; did you mean \"output.dense\"?");
  EXPECT_TRUE(ReadLayers(database.Queries(), {"t-1"}, "kurtosis", "")->empty());
}

}  // namespace
}  // namespace inlier
