// Queries of people that are answered, and the errors of those that are refused.
#include "coordinator/store/query_guard.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class QueryGuardTest : public StoreTest {
 protected:
  std::string QueryError(const std::string& sql, const QueryLimits& limits = {}) {
    const auto response = Query(sql, limits);
    return response.ok() ? "OK" : response.status().ToString();
  }
};

constexpr char kOnlySelect[] =
    "INVALID_ARGUMENT: only one SELECT may be run here: the database is written by the coordinator alone";

TEST_F(QueryGuardTest, SelectGivesTypedValuesAndNames) {
  const auto response =
      Query("SELECT 1 AS one, 2.5 AS real, 'x' AS text, x'00ff' AS blob, NULL AS absent").value();
  EXPECT_THAT(response.columns(), ElementsAre("one", "real", "text", "blob", "absent"));
  EXPECT_THAT(RowTexts(response), ElementsAre("1|2.5|x|blob|NULL"));
  EXPECT_EQ(response.rows(0).values(3).blob(), std::string("\0\xff", 2));
  EXPECT_FALSE(response.truncated());
}

TEST_F(QueryGuardTest, EverythingButASelectIsRefused) {
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

TEST_F(QueryGuardTest, QueryReachesNoFileAndNoCode) {
  for (const std::string sql :
       {"SELECT load_extension('/tmp/x.so')", "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'y')", "SELECT edit('x')", "SELECT hex(fts3_tokenizer('simple'))",
        "SELECT fts3_tokenizer('mine', x'4141414141414141')", "SELECT * FROM fsdir('/')",
        "SELECT * FROM dbstat", "SELECT * FROM sqlite_stmt", "SELECT * FROM sqlite_dbpage",
        "SELECT * FROM fts3tokenize('simple', 'x')"}) {
    EXPECT_THAT(QueryError(sql), StartsWith("INVALID_ARGUMENT: SQL")) << sql;
  }
  EXPECT_EQ(
      QueryError("SELECT hex(fts3_tokenizer('simple'))"),
      "INVALID_ARGUMENT: SQL: the function fts3_tokenizer is not allowed here; aggregates, window functions "
      "and functions of numbers, texts, dates and JSON are");
}

// Every function that this SQLite has, with any options of its build.
TEST_F(QueryGuardTest, FunctionsAreThoseOfTheListAndNoOthers) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &raw), SQLITE_OK);
  sqlite3_stmt* list = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(raw, "SELECT name, narg FROM pragma_function_list", -1, &list, nullptr),
            SQLITE_OK);
  int refused = 0, allowed = 0;
  while (sqlite3_step(list) == SQLITE_ROW) {
    const std::string name = reinterpret_cast<const char*>(sqlite3_column_text(list, 0));
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) continue;  // ->
    std::string arguments;
    for (int i = 0; i < std::max(sqlite3_column_int(list, 1), 1); ++i)
      arguments += i == 0 ? "NULL" : ", NULL";
    if (sqlite3_column_int(list, 1) == 0) arguments.clear();
    const std::string error = QueryError("SELECT " + name + "(" + arguments + ")");
    const bool listed = std::ranges::binary_search(AllowedFunctions(), name);
    (listed ? allowed : refused)++;
    EXPECT_EQ(error.find("the function " + name + " is not allowed here") == std::string::npos, listed)
        << name << ": " << error;
  }
  sqlite3_finalize(list);
  sqlite3_close(raw);
  EXPECT_GT(allowed, 60);
  EXPECT_GT(refused, 5);
}

TEST_F(QueryGuardTest, NameOfAFunctionIsComparedWithoutItsCaseAndQuotes) {
  for (const std::string sql :
       {"SELECT FTS3_Tokenizer('simple')", "SELECT \"fts3_tokenizer\"('simple')",
        "SELECT 1 WHERE fts3_tokenizer('simple') IS NULL", "SELECT 1 ORDER BY [fts3_tokenizer]('simple')"})
    EXPECT_THAT(QueryError(sql), HasSubstr("the function fts3_tokenizer is not allowed here")) << sql;
  EXPECT_EQ(QueryError("SELECT Upper('a'), COUNT(*)"), "OK");
}

// Objects that another program put into the file are not trusted; the views of inlier are those of the program.
TEST_F(QueryGuardTest, SchemaOfTheFileIsNotTrusted) {
  MustAddTrial();
  database_->connection().exec(
      "DROP VIEW failures; CREATE VIEW failures AS SELECT fts3_tokenizer('simple') AS x");
  database_->connection().exec("CREATE VIEW foreign_view AS SELECT * FROM pragma_table_info('trial')");
  EXPECT_THAT(QueryError("SELECT x FROM failures"), StartsWith("INVALID_ARGUMENT: SQL: no such column: x"));
  EXPECT_EQ(QueryError("SELECT trial FROM failures"), "OK");
  EXPECT_THAT(QueryError("SELECT x FROM main.failures"), HasSubstr("not allowed here"));
  EXPECT_THAT(QueryError("SELECT * FROM foreign_view"),
              HasSubstr("in a view of the file is not allowed here"));
  EXPECT_TRUE(reader_->Select("SELECT labels, gamma FROM trials").ok());
  EXPECT_THAT(reader_->Select("SELECT * FROM foreign_view").status().ToString(),
              HasSubstr("unsafe use of virtual table"));
}

TEST_F(QueryGuardTest, FunctionThatIsNotThereIsAnsweredWithTheNearest) {
  EXPECT_EQ(QueryError("SELECT uppr('a')"),
            "INVALID_ARGUMENT: SQL: no such function: uppr; did you mean \"upper\"?");
}

TEST_F(QueryGuardTest, QueryOfMoreThanAMebibyteIsRefusedBeforeItIsRead) {
  EXPECT_EQ(QueryError("SELECT " + std::string((1 << 20) + 1, ' ') + "1"),
            "INVALID_ARGUMENT: SQL: the query has 1048585 bytes; at most 1048576 are allowed");
}

TEST_F(QueryGuardTest, ExplainAndSchemaPragmasAreAllowed) {
  EXPECT_EQ(QueryError("EXPLAIN QUERY PLAN SELECT * FROM results"), "OK");
  EXPECT_EQ(QueryError("PRAGMA table_info(trials)"), "OK");
  EXPECT_EQ(QueryError("SELECT name FROM pragma_table_info('trials')"), "OK");
  EXPECT_EQ(QueryError("SELECT key, value FROM json_each('{\"a\": 1}')"), "OK");
  EXPECT_EQ(
      QueryError(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n"),
      "OK");
}

TEST_F(QueryGuardTest, TwoStatementsNoneAndParametersAreRefused) {
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

TEST_F(QueryGuardTest, MistakesAreAnsweredWithTheNearestName) {
  EXPECT_EQ(QueryError("SELECT perplexty FROM results"),
            "INVALID_ARGUMENT: SQL: no such column: perplexty; did you mean \"perplexity\"?");
  EXPECT_EQ(QueryError("SELECT * FROM result"),
            "INVALID_ARGUMENT: SQL: no such table: result; did you mean \"results\"?");
  // Names of other views, and the name itself, are no help.
  EXPECT_EQ(QueryError("SELECT perplexity, 'results' FROM trials"),
            "INVALID_ARGUMENT: SQL: no such column: perplexity");
  EXPECT_EQ(QueryError("SELECT perplexty FROM trials"), "INVALID_ARGUMENT: SQL: no such column: perplexty");
  EXPECT_EQ(QueryError("SELECT t.perplexity FROM Trials t JOIN \"results\" r ON r.trial = t.trial"),
            "INVALID_ARGUMENT: SQL: no such column: t.perplexity");
  EXPECT_EQ(QueryError("SELECT outcme FROM attempts"),
            "INVALID_ARGUMENT: SQL: no such column: outcme; did you mean \"outcome\"?");
  EXPECT_THAT(QueryError("SELEC 1"), HasSubstr("INVALID_ARGUMENT: SQL: near \"SELEC\": syntax error"));
}

TEST_F(QueryGuardTest, RowsAreLimited) {
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
  const auto response = Query(numbers, {.rows = 3}).value();
  EXPECT_THAT(RowTexts(response), ElementsAre("1", "2", "3"));
  EXPECT_TRUE(response.truncated());
  const auto exact = Query(numbers + " LIMIT 3", {.rows = 3});
  EXPECT_FALSE(exact->truncated());
}

TEST_F(QueryGuardTest, BytesAndCellsAreLimited) {
  const auto response =
      Query(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT printf('%100d', i) FROM n",
          {.bytes = 1000})
          .value();
  EXPECT_EQ(response.rows_size(), 9);
  EXPECT_TRUE(response.truncated());
  EXPECT_EQ(
      QueryError("SELECT zeroblob(2000) AS big", {.cell_bytes = 1000}),
      "INVALID_ARGUMENT: SQL: a value of column \"big\" has more than 1000 bytes; use substr() or length()");
  EXPECT_THAT(QueryError("SELECT zeroblob(100000000)"),
              HasSubstr("INVALID_ARGUMENT: SQL: string or blob too big"));
}

TEST_F(QueryGuardTest, EndlessQueryIsInterrupted) {
  EXPECT_EQ(
      QueryError("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
                 {.time = std::chrono::milliseconds(20)}),
      "DEADLINE_EXCEEDED: the query took longer than " + FormatDuration(std::chrono::milliseconds(20)) +
          "; narrow it, for example with WHERE sweep = '…', or read inlier.db with sqlite3");
  EXPECT_EQ(QueryError("SELECT 1"), "OK");
}

TEST_F(QueryGuardTest, LaterCommitsAreSeen) {
  EXPECT_THAT(Rows("SELECT count(*) FROM sweeps"), ElementsAre("0"));
  MustApply(Sweep(1));
  EXPECT_THAT(Rows("SELECT count(*) FROM sweeps"), ElementsAre("1"));
}

TEST_F(QueryGuardTest, DatabaseCanBeReadAfterTheCoordinatorEnded) {
  MustApply(Sweep(1));
  const std::filesystem::path path = database_->path();
  Close();
  const auto after = GuardedConnection::Open(path).value();
  EXPECT_THAT(RowTexts(after->Query("SELECT sweep FROM sweeps").value()), ElementsAre("gamma"));
}

}  // namespace
}  // namespace inlier
