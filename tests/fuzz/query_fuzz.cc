// SQL of strangers: an answer or a clear error, in bounded time; the database stays as it was.
#include <map>

#include "base/check.h"
#include "coordinator/store/reader.h"
#include "tests/coordinator/harness.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

namespace inlier {
namespace {

struct Scene {
  Scene() : folder(FuzzFolder()), harness(Harness::DefaultOptions(), folder.path()) {
    harness.Submit(SmallSweep("story", 2, {8, 4}));
    HandWorker worker("w", 2);
    for (int round = 0; round < 3; ++round) {
      harness.Sync(worker);
      for (const auto& [token, assignment] : std::map(worker.running())) worker.Finish(token);
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.path().filename() == "inlier.db") reader = std::make_unique<Reader>(entry.path(), 1);
    }
    rows = Rows();
  }
  std::string Rows() {
    const auto answer = reader->Query(
        "SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM results), (SELECT group_concat(name) "
        "FROM "
        "sqlite_schema)");
    INLIER_CHECK(answer.ok());
    return answer->SerializeAsString();
  }

  TemporaryFolder folder;
  Harness harness;
  std::unique_ptr<Reader> reader;
  std::string rows;
};

}  // namespace

void FuzzOne(std::string_view input) {
  static Scene* const scene = new Scene();
  QueryLimits limits;
  limits.rows = 100;
  limits.time = std::chrono::milliseconds(200);
  const auto answer = scene->reader->Query(std::string(input), limits);
  INLIER_CHECK(answer.ok() || !answer.status().message().empty());
  INLIER_CHECK(answer.ok() || !absl::IsInternal(answer.status()));
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
      "VACUUM INTO '/tmp/y'",
      "SELECT group_concat(step) OVER (PARTITION BY name ORDER BY step) FROM curves"};
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  return MutateBytes(std::move(input), random);
}

}  // namespace inlier
