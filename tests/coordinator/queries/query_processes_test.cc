// Users' SQL cannot harm the coordinator: take longer than its time, more memory than its share, hold a
// snapshot, end the process, outlive its caller.
#include "coordinator/queries/query_processes.h"

#include <signal.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/comes.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Duration kTime = std::chrono::milliseconds(300);
// Of a busy machine, in addition to the grace of a query.
constexpr Duration kSlack = std::chrono::seconds(8);
constexpr char kEndless[] =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

// A text of `bytes` equal letters.
std::string Letters(std::uint64_t bytes, const std::string& letter = "a") {
  return absl::StrCat("replace(hex(zeroblob(", bytes / 2, ")), '00', '", letter, letter, "')");
}

// Large, and no jump in it: SQLite looks at no clock while it runs.
std::string WithoutJumps() {
  std::string sum = "x";
  std::string columns = "1";
  for (int i = 0; i < 500; ++i) sum += "+x";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&columns, ",", sum);
  return absl::StrCat("SELECT ", columns, " FROM (SELECT ", Letters(8 << 20, "1"), " AS x LIMIT 1)");
}

// Names that stand for `times` the one before each.
std::string Names(int names, int times) {
  std::string sql = "WITH a0 AS (SELECT 1)";
  for (int i = 1; i <= names; ++i) {
    absl::StrAppend(&sql, ", a", i, " AS (SELECT 1 FROM a", i - 1);
    for (int j = 1; j < times; ++j) absl::StrAppend(&sql, ", a", i - 1, " AS b", j);
    sql += ")";
  }
  return absl::StrCat(sql, " SELECT count(*) FROM a", names);
}

class QueryProcessesTest : public StoreTest {
 protected:
  QueryProcessesTest() : processes_(INLIER_QUERY_PROGRAM, database_->path()) {}

  absl::StatusOr<v1::QueryResponse> Run(const std::string& sql, const QueryLimits& limits = {}) {
    return processes_.Run(sql, limits, [] { return false; });
  }
  std::string RunError(const std::string& sql, const QueryLimits& limits = {}) {
    const auto response = Run(sql, limits);
    return response.ok() ? "OK" : response.status().ToString();
  }
  // Runs it and expects that its time ended it, or `other` before that.
  void ExpectEndsInTime(const std::string& sql,
                        const std::string& other = "DEADLINE_EXCEEDED: the query took longer than ") {
    const Timestamp began = MonotonicNow();
    const std::string error = RunError(sql, {.time = kTime});
    const Duration took = MonotonicNow() - began;
    EXPECT_THAT(error, testing::AnyOf(StartsWith("DEADLINE_EXCEEDED: the query took longer than "),
                                      StartsWith(other)))
        << sql.substr(0, 200);
    EXPECT_LT(took, kTime + QueryProcess::kGrace + kSlack) << sql.substr(0, 200);
  }

  QueryProcesses processes_;
};

TEST_F(QueryProcessesTest, AnswersAreThoseOfTheGuard) {
  MustAddTrial();
  const auto response = Run("SELECT trial, state, 1.5, NULL, x'00ff' FROM trials").value();
  EXPECT_THAT(RowTexts(response), ElementsAre("t-1|PENDING|1.5|NULL|blob"));
  EXPECT_EQ(RunError("SELEC 1"), "INVALID_ARGUMENT: SQL: near \"SELEC\": syntax error");
  EXPECT_THAT(RunError("DELETE FROM trial"), StartsWith("INVALID_ARGUMENT: only one SELECT may be run here"));
  EXPECT_TRUE(Run("SELECT i FROM (SELECT 1 AS i UNION SELECT 2)", {.rows = 1})->truncated());
  EXPECT_EQ(RunError(std::string("SELECT '\xff'")), "OK");  // It need not be UTF-8.
}

TEST_F(QueryProcessesTest, EveryCommitIsSeen) {
  EXPECT_THAT(RowTexts(*Run("SELECT count(*) FROM sweeps")), ElementsAre("0"));
  MustApply(Sweep(1));
  EXPECT_THAT(RowTexts(*Run("SELECT count(*) FROM sweeps")), ElementsAre("1"));
}

TEST_F(QueryProcessesTest, OneInstructionThatTakesHoursEndsInTime) {
  const std::string both = absl::StrCat(Letters(16 << 20), ", ", Letters(8 << 20), " || 'b'");
  ExpectEndsInTime(absl::StrCat("SELECT instr(", both, ")"));
  ExpectEndsInTime(absl::StrCat("SELECT length(replace(", both, ", 'c'))"));
  ExpectEndsInTime(
      absl::StrCat("SELECT length(trim(", Letters(2 << 20), ", ", Letters(2 << 20, "b"), " || 'a'))"));
  ExpectEndsInTime(absl::StrCat("SELECT sum(x LIKE '%' || ", Letters(49000), " || 'b') FROM (SELECT ",
                                Letters(16 << 20), " AS x)"));
}

TEST_F(QueryProcessesTest, AProgramWithoutJumpsEndsInTime) { ExpectEndsInTime(WithoutJumps()); }

TEST_F(QueryProcessesTest, ATextThatTakesHoursToReadEndsInTime) {
  // Doubled at each name: its time or its memory ends it.
  ExpectEndsInTime(Names(60, 2), "RESOURCE_EXHAUSTED: the query needs more than 256 MiB of memory");
  ExpectEndsInTime(Names(25'000, 1));  // One inside the other.
}

TEST_F(QueryProcessesTest, EndlessOnesEndInTimeAndTheNextOneIsAnswered) {
  ExpectEndsInTime(kEndless);
  EXPECT_EQ(RunError("SELECT 1"), "OK");
}

TEST_F(QueryProcessesTest, MemoryIsBoundedAlsoForWhatIsSortedAndGrouped) {
  const std::string rows =
      "WITH RECURSIVE n(i, x) AS (SELECT 1, hex(zeroblob(1000000)) UNION ALL SELECT i + 1, "
      "hex(zeroblob(1000000)) || i FROM n LIMIT 1000) ";
  for (const std::string& select : {std::string("SELECT i FROM n ORDER BY x"),
                                    std::string("SELECT count(*) FROM (SELECT DISTINCT x FROM n)"),
                                    std::string("SELECT length(json_group_array(hex(x))) FROM n")}) {
    EXPECT_EQ(
        RunError(rows + select, {.time = std::chrono::minutes(1)}),
        "RESOURCE_EXHAUSTED: the query needs more than 256 MiB of memory; narrow it, for example with WHERE "
        "sweep = '…' or by naming the columns, or read inlier.db with sqlite3")
        << select;
  }
  EXPECT_EQ(RunError("SELECT 1"), "OK");
}

TEST_F(QueryProcessesTest, WhatBreaksSqliteBreaksOneProcess) {
  // A path whose every step is a frame on the stack.
  EXPECT_EQ(RunError(absl::StrCat("SELECT length(json_set('{}', '$' || replace(", Letters(8 << 20),
                                  ", 'a', '.a'), 1))")),
            "INVALID_ARGUMENT: SQL: the query ended its process by signal 11; write it with less nesting");
  EXPECT_EQ(RunError("SELECT 1"), "OK");
}

TEST_F(QueryProcessesTest, NoSnapshotIsHeldAfterTheTime) {
  MustAddTrial();
  const std::string slow =
      "WITH RECURSIVE n(i) AS (SELECT count(*) FROM sweep UNION ALL SELECT i + 1 FROM n) SELECT count(*) "
      "FROM n";
  std::thread reader([&] { ExpectEndsInTime(slow); });
  std::this_thread::sleep_for(kTime / 2);
  for (int i = 2; i < 20; ++i) MustApply(Sweep(i));
  reader.join();
  ASSERT_TRUE(database_->CheckpointWal(/*truncate=*/true).ok());
  EXPECT_EQ(database_->WalBytes(), 0u);
}

TEST_F(QueryProcessesTest, CallerThatGoesEndsItsQuery) {
  int asked = 0;  // Once before it runs.
  const auto response = processes_.Run(kEndless, {}, [&asked] { return ++asked > 3; });
  EXPECT_EQ(response.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(RunError("SELECT 1"), "OK");
}

TEST_F(QueryProcessesTest, StopEndsWhatRunsAndRefusesWhatComes) {
  int asked = 0;
  const auto response = processes_.Run(kEndless, {}, [&] {
    if (++asked == 3) processes_.Stop();  // It runs.
    return false;
  });
  EXPECT_THAT(response.status().ToString(), StartsWith("UNAVAILABLE: the coordinator is stopping"));
  EXPECT_THAT(RunError("SELECT 1"), StartsWith("UNAVAILABLE"));
}

TEST_F(QueryProcessesTest, ProcessIsKeptForTheNextQueryAndReplacedWhenItIsGone) {
  auto process = QueryProcess::Start(INLIER_QUERY_PROGRAM, database_->path()).value();
  const auto run = [&](const std::string& sql) {
    return process->Run(sql, {}, [] { return false; }).status().ToString();
  };
  EXPECT_EQ(run("SELECT 1"), "OK");
  EXPECT_EQ(run("SELECT 2"), "OK");
  EXPECT_TRUE(process->IsAlive());
  ASSERT_EQ(::kill(process->pid(), SIGKILL), 0);
  EXPECT_TRUE(Comes([&] { return !process->IsAlive(); }));
}

TEST_F(QueryProcessesTest, ProgramThatIsNotThereIsNamed) {
  QueryProcesses none("/no/such/program", database_->path());
  EXPECT_THAT(none.Run("SELECT 1", {}, [] { return false; }).status().ToString(),
              HasSubstr("/no/such/program"));
  QueryProcesses unset("", database_->path());
  EXPECT_EQ(unset.Run("SELECT 1", {}, [] { return false; }).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace inlier
