// SQL of strangers: an answer or a clear error, in bounded time and memory; the database stays as it was.
#include <sys/resource.h>

#include <map>

#include "base/check.h"
#include "coordinator/queries/query_process.h"
#include "coordinator/store/query_guard.h"
#include "tests/coordinator/harness.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

namespace inlier {
namespace {

struct Scene {
  Scene() : folder(MemoryFolder()), harness(Harness::DefaultOptions(), folder.path()) {
    harness.Submit(SmallSweep("story", 2, {8, 4}));
    HandWorker worker("w", 2);
    for (int round = 0; round < 3; ++round) {
      harness.Sync(worker);
      for (const auto& [token, assignment] : std::map(worker.running())) worker.Finish(token);
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.path().filename() == "inlier.db") database = entry.path();
    }
    connection = GuardedConnection::Open(database).value();
    rows = Rows();
  }
  std::string Rows() {
    return connection
        ->Query(
            "SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM results), "
            "(SELECT group_concat(name) FROM sqlite_schema)")
        .value()
        .SerializeAsString();
  }
  // As the coordinator runs it.
  absl::StatusOr<v1::QueryResponse> Run(const std::string& sql, const QueryLimits& limits) {
    if (process == nullptr || !process->IsAlive()) {
      process = QueryProcess::Start(INLIER_QUERY_PROGRAM, database).value();
    }
    return process->Run(sql, limits, [] { return false; });
  }

  TemporaryFolder folder;
  Harness harness;
  std::filesystem::path database;
  std::unique_ptr<GuardedConnection> connection;
  std::unique_ptr<QueryProcess> process;
  std::string rows;
};

constexpr Duration kTime = std::chrono::milliseconds(50);
constexpr Duration kSlack =
    std::chrono::seconds(10);  // Of a busy machine; SQL without a limit takes minutes.
constexpr Duration kShort = std::chrono::milliseconds(20);
// In addition to SQLite's heap: the program, its answer, and what the allocator keeps.
constexpr std::int64_t kOtherBytes = std::int64_t{256} << 20;

// Of the largest of the processes that have ended.
std::int64_t PeakBytesOfProcesses() {
  rusage usage{};
  INLIER_CHECK(::getrusage(RUSAGE_CHILDREN, &usage) == 0);
  return std::int64_t{usage.ru_maxrss} << 10;
}

}  // namespace

void FuzzOne(std::string_view input) {
  static Scene* const scene = new Scene();
  QueryLimits limits;
  limits.rows = 100;
  limits.time = kTime;
  const Timestamp began = MonotonicNow();
  const auto answer = scene->Run(std::string(input), limits);
  const Duration took = MonotonicNow() - began;
  INLIER_CHECK(took < kTime + QueryProcess::kGrace + kSlack);
  INLIER_CHECK(PeakBytesOfProcesses() < kQueryHeapBytes + kOtherBytes);
  INLIER_CHECK(answer.ok() || !answer.status().message().empty());
  INLIER_CHECK(answer.ok() || !absl::IsInternal(answer.status()));
  // Here, too, so that the fuzzer sees which way the guard takes.
  if (answer.ok() && took < kShort) static_cast<void>(scene->connection->Query(std::string(input), limits));
  static int since = 0;
  if (++since % 64 == 0) INLIER_CHECK(scene->Rows() == scene->rows);
}

std::vector<std::string> FuzzSeeds() {
  return {
      "SELECT * FROM trials",
      "SELECT trial, perplexity FROM results JOIN trials USING (trial) WHERE seed = 1 ORDER BY perplexity "
      "LIMIT 5",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT sum(i) FROM n",
      "SELECT name, sql FROM sqlite_schema; DROP TABLE sweep",
      "INSERT INTO sweep VALUES (1)",
      "PRAGMA journal_mode = DELETE",
      "ATTACH DATABASE '/tmp/x' AS x",
      "SELECT load_extension('x'), randomblob(100000000), printf('%1000000000d', 1), zeroblob(2000000000)",
      "SELECT spec->>'$.seed', json_extract(spec, '$.training'), hex(labels) FROM trials, json_each(spec)",
      "EXPLAIN SELECT 1 -- 'x /* \" ",
      "SELECT instr(hex(zeroblob(8000000)), hex(zeroblob(4000000)) || 'b'), hex(fts3_tokenizer('simple'))",
      "SELECT json_group_array(hex(randomblob(1000000))) FROM curves, trials ORDER BY json_patch(spec, "
      "labels)",
      "WITH a AS (SELECT * FROM trials), b AS (SELECT * FROM a, a), c AS (SELECT * FROM b, b) SELECT * FROM "
      "c, c",
      "SELECT x LIKE '%' || x, x GLOB '*' || x, trim(x, x), replace(x, 'aab', x) FROM "
      "(SELECT hex(zeroblob(900000)) AS x) WHERE x + x + x + x",
      "VACUUM INTO '/tmp/y'",
      "SELECT group_concat(step) OVER (PARTITION BY name ORDER BY step) FROM curves"};
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  return MutateBytes(std::move(input), random);
}

}  // namespace inlier
