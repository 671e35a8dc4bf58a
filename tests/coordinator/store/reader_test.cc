// Queries that are answered, the errors of those that are refused, and the lists behind the service's
// answers.
#include "coordinator/store/reader.h"

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReaderTest : public StoreTest {
 protected:
  std::string QueryError(const std::string& sql, const QueryLimits& limits = {}) {
    const auto response = reader_->Query(sql, limits);
    return response.ok() ? "OK" : response.status().ToString();
  }
};

constexpr char kOnlySelect[] =
    "INVALID_ARGUMENT: only one SELECT may be run here: the database is written by the coordinator alone";

TEST_F(ReaderTest, SelectGivesTypedValuesAndNames) {
  const auto response =
      reader_->Query("SELECT 1 AS one, 2.5 AS real, 'x' AS text, x'00ff' AS blob, NULL AS absent");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_THAT(response->columns(), ElementsAre("one", "real", "text", "blob", "absent"));
  EXPECT_THAT(RowTexts(*response), ElementsAre("1|2.5|x|blob|NULL"));
  EXPECT_EQ(response->rows(0).values(3).blob(), std::string("\0\xff", 2));
  EXPECT_FALSE(response->truncated());
}

TEST_F(ReaderTest, EverythingButASelectIsRefused) {
  MustAddTrial();
  const std::string other = (folder_.path() / "copy.db").string();
  for (const std::string& sql : std::vector<std::string>{
           "DELETE FROM trial", "INSERT INTO meta VALUES ('x', 1)", "UPDATE trial SET state = 'FAILED'",
           "DROP VIEW trials", "CREATE TABLE t (x)", "CREATE TEMP TABLE t (x)",
           "ATTACH '" + other + "' AS other", "VACUUM", "VACUUM INTO '" + other + "'",
           "PRAGMA query_only = OFF", "PRAGMA journal_mode = DELETE", "PRAGMA wal_checkpoint(TRUNCATE)",
           "BEGIN", "SAVEPOINT s", "REINDEX", "ANALYZE", "WITH x AS (SELECT 1) DELETE FROM trial"}) {
    EXPECT_EQ(QueryError(sql), kOnlySelect) << sql;
  }
  EXPECT_THAT(Rows("SELECT trial, state FROM trials"), ElementsAre("t-1|PENDING"));
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(ReaderTest, QueryReachesNoFileAndNoCode) {
  for (const std::string sql : {"SELECT load_extension('/tmp/x.so')", "SELECT readfile('/etc/passwd')",
                                "SELECT writefile('/tmp/x', 'y')", "SELECT edit('x')",
                                "SELECT fts3_tokenizer('simple', x'00')", "SELECT * FROM fsdir('/')"}) {
    EXPECT_EQ(QueryError(sql).substr(0, 21), "INVALID_ARGUMENT: SQL") << sql << " gave " << QueryError(sql);
  }
}

TEST_F(ReaderTest, QueryOfMoreThanAMebibyteIsRefusedBeforeItIsRead) {
  EXPECT_EQ(QueryError("SELECT " + std::string((1 << 20) + 1, ' ') + "1"),
            "INVALID_ARGUMENT: SQL: the query has 1048585 bytes; at most 1048576 are allowed");
}

TEST_F(ReaderTest, ExplainAndSchemaPragmasAreAllowed) {
  EXPECT_EQ(QueryError("EXPLAIN QUERY PLAN SELECT * FROM results"), "OK");
  EXPECT_EQ(QueryError("PRAGMA table_info(trials)"), "OK");
  EXPECT_EQ(QueryError("SELECT name FROM pragma_table_info('trials')"), "OK");
  EXPECT_EQ(QueryError("SELECT key, value FROM json_each('{\"a\": 1}')"), "OK");
  EXPECT_EQ(
      QueryError(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n"),
      "OK");
}

TEST_F(ReaderTest, TwoStatementsNoneAndParametersAreRefused) {
  EXPECT_EQ(QueryError("SELECT 1; SELECT 2"),
            "INVALID_ARGUMENT: SQL: there is more than one statement; send them one at a time");
  EXPECT_EQ(QueryError("SELECT 1; DROP TABLE trial"),
            "INVALID_ARGUMENT: SQL: there is more than one statement; send them one at a time");
  EXPECT_EQ(QueryError("SELECT 1; -- that is all\n"), "OK");
  EXPECT_EQ(QueryError(" -- nothing"),
            "INVALID_ARGUMENT: SQL: there is no statement; try SELECT * FROM results");
  EXPECT_EQ(QueryError("SELECT ?"),
            "INVALID_ARGUMENT: SQL: the query has parameters (?, :name); write their values into it");
  EXPECT_EQ(QueryError(std::string("SELECT 1\0, 2", 11)), "INVALID_ARGUMENT: SQL: the query has a zero byte");
}

TEST_F(ReaderTest, MistakesAreAnsweredWithTheNearestName) {
  EXPECT_EQ(QueryError("SELECT perplexty FROM results"),
            "INVALID_ARGUMENT: SQL: no such column: perplexty; did you mean \"perplexity\"?");
  EXPECT_EQ(QueryError("SELECT * FROM result"),
            "INVALID_ARGUMENT: SQL: no such table: result; did you mean \"results\"?");
  EXPECT_THAT(QueryError("SELEC 1"), HasSubstr("INVALID_ARGUMENT: SQL: near \"SELEC\": syntax error"));
}

TEST_F(ReaderTest, RowsAreLimited) {
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
  const auto response = reader_->Query(numbers, {.rows = 3});
  ASSERT_TRUE(response.ok());
  EXPECT_THAT(RowTexts(*response), ElementsAre("1", "2", "3"));
  EXPECT_TRUE(response->truncated());
  const auto exact = reader_->Query(numbers + " LIMIT 3", {.rows = 3});
  EXPECT_FALSE(exact->truncated());
}

TEST_F(ReaderTest, BytesAndCellsAreLimited) {
  const auto response = reader_->Query(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT printf('%100d', i) FROM n",
      {.bytes = 1000});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->rows_size(), 9);
  EXPECT_TRUE(response->truncated());
  EXPECT_EQ(
      QueryError("SELECT zeroblob(2000) AS big", {.cell_bytes = 1000}),
      "INVALID_ARGUMENT: SQL: a value of column \"big\" has more than 1000 bytes; use substr() or length()");
  EXPECT_THAT(QueryError("SELECT zeroblob(100000000)"),
              HasSubstr("INVALID_ARGUMENT: SQL: string or blob too big"));
}

TEST_F(ReaderTest, EndlessQueryIsInterrupted) {
  EXPECT_EQ(
      QueryError("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
                 {.time = std::chrono::milliseconds(20)}),
      "DEADLINE_EXCEEDED: the query took longer than " + FormatDuration(std::chrono::milliseconds(20)) +
          "; narrow it, for example with WHERE sweep = '…', or read inlier.db with sqlite3");
  EXPECT_EQ(QueryError("SELECT 1"), "OK");
}

TEST_F(ReaderTest, ReaderSeesLaterCommits) {
  EXPECT_THAT(Rows("SELECT count(*) FROM sweeps"), ElementsAre("0"));
  MustApply(Sweep(1));
  EXPECT_THAT(Rows("SELECT count(*) FROM sweeps"), ElementsAre("1"));
}

TEST_F(ReaderTest, DatabaseCanBeReadAfterTheCoordinatorEnded) {
  MustApply(Sweep(1));
  const std::filesystem::path path = database_->path();
  Close();
  Reader after(path);
  const auto response = after.Query("SELECT sweep FROM sweeps");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_THAT(RowTexts(*response), ElementsAre("gamma"));
}

TEST_F(ReaderTest, SweepIsFoundByIdAndByItsLatestName) {
  MustApply(Sweep(1, "gamma"), Sweep(2, "zeta"), Sweep(3, "gamma"));
  EXPECT_EQ(*reader_->FindSweep("s-1"), SweepId(1));
  EXPECT_EQ(*reader_->FindSweep("gamma"), SweepId(3));
  EXPECT_EQ(reader_->FindSweep("gama").status().ToString(),
            "NOT_FOUND: there is no sweep \"gama\"; did you mean \"gamma\"?");
  EXPECT_EQ(reader_->FindSweep("s-9").status().ToString(),
            "NOT_FOUND: there is no sweep \"s-9\"; known: gamma, zeta");
}

TEST_F(ReaderTest, ErrorReportsThatNothingWasSubmitted) {
  EXPECT_EQ(reader_->FindSweep("gamma").status().ToString(),
            "NOT_FOUND: there is no sweep \"gamma\"; none has been submitted yet");
}

TEST_F(ReaderTest, TrialIsFoundById) {
  MustAddTrial();
  EXPECT_EQ(*reader_->FindTrial("t-1"), TrialId(1));
  EXPECT_EQ(reader_->FindTrial("t-2").status().ToString(),
            "NOT_FOUND: there is no trial \"t-2\"; trials are named like t-17, and ListTrials shows those of "
            "a sweep");
  EXPECT_EQ(reader_->FindTrial("1").status().ToString(),
            "NOT_FOUND: there is no trial \"1\"; trials are named like t-17, and ListTrials shows those of a "
            "sweep");
}

TEST_F(ReaderTest, SweepStatusCountsTrialsAndSharedStagesOnce) {
  MustAddTrial();
  MustTrain();
  MustApply(Evaluate(3, 1), Trial(2, 1, 1, 1, 3), Start(2, 3),
            TrialChange{.id = TrialId(2), .state = v1::RUNNING, .message = ""});
  const auto status = reader_->GetSweep(SweepId(1));
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->sweep_id(), "s-1");
  EXPECT_EQ(status->spec().description(), "what gamma does");
  EXPECT_EQ(status->trials().pending(), 1u);
  EXPECT_EQ(status->trials().running(), 1u);
  EXPECT_EQ(status->train_stages().total(), 1u);
  EXPECT_EQ(status->train_stages().ended(), 1u);
  EXPECT_EQ(status->evaluate_stages().total(), 2u);
  EXPECT_EQ(status->evaluate_stages().running(), 1u);
  EXPECT_FALSE(status->has_ended_unix_ms());
  EXPECT_EQ(reader_->GetSweep(SweepId(9)).status().ToString(), "NOT_FOUND: there is no sweep s-9");
}

TEST_F(ReaderTest, TrialsComeInPagesWithLabelsAndAttempts) {
  MustAddTrial();
  MustTrain();
  MustApply(Trial(2, 1, 1, 1, 2), Trial(3, 1, 2, 1, 2));
  v1::ListTrialsRequest request;
  request.set_sweep("gamma");
  request.set_page_size(2);
  auto page = reader_->ListTrials(request);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->trials_size(), 2);
  EXPECT_EQ(page->trials(0).trial_id(), "t-1");
  EXPECT_EQ(page->trials(0).labels().at("gamma"), "-0.03");
  EXPECT_EQ(page->trials(0).attempts(), 1u);
  EXPECT_EQ(page->trials(0).train_stage(), "st-1");
  EXPECT_EQ(page->next_page_token(), "t-2");
  request.set_page_token(page->next_page_token());
  page = reader_->ListTrials(request);
  ASSERT_EQ(page->trials_size(), 1);
  EXPECT_EQ(page->trials(0).trial_id(), "t-3");
  EXPECT_FALSE(page->has_next_page_token());
  request.set_page_token("nonsense");
  EXPECT_EQ(reader_->ListTrials(request).status().ToString(),
            "INVALID_ARGUMENT: page_token: not one that ListTrials gave; start without one");
}

TEST_F(ReaderTest, TrialsAreFilteredByState) {
  MustAddTrial();
  MustApply(Trial(2, 1, 1, 1, 2), TrialChange{.id = TrialId(2), .state = v1::FAILED, .message = "why"});
  v1::ListTrialsRequest request;
  request.set_sweep("s-1");
  request.set_state(v1::FAILED);
  const auto page = reader_->ListTrials(request);
  ASSERT_EQ(page->trials_size(), 1);
  EXPECT_EQ(page->trials(0).trial_id(), "t-2");
  EXPECT_EQ(page->trials(0).message(), "why");
}

TEST_F(ReaderTest, LogsAreTheLastLinesOldestFirst) {
  MustAddTrial();
  MustTrain();
  MustApply(Start(2, 2), LogRow{2, "one", {10}}, LogRow{2, "two", {20}}, LogRow{2, "three", {30}});
  const auto logs = reader_->Logs(TrialId(1), 2);
  ASSERT_TRUE(logs.ok()) << logs.status();
  ASSERT_EQ(logs->lines_size(), 2);
  EXPECT_EQ(logs->lines(0).text(), "two");
  EXPECT_EQ(logs->lines(0).stage_id(), "st-2");
  EXPECT_EQ(logs->lines(0).token(), 2u);
  EXPECT_EQ(logs->lines(0).time_unix_ms(), 20);
  EXPECT_EQ(logs->lines(1).text(), "three");
}

}  // namespace
}  // namespace inlier
