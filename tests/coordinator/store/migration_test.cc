// Migrations of the schema: forward, each in one transaction after a backup that is kept, whatever kills the
// process in between. The lists here are the first file of the schema, as it was released, and steps of the
// test's own; so that steps added later change nothing here.
#include <SQLiteCpp/SQLiteCpp.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

std::vector<Migration> First() { return {BuiltinMigrations().front()}; }

std::vector<Migration> WithSecond(const std::string& sql) {
  std::vector<Migration> migrations = First();
  migrations.push_back({2, "0002_of_the_test", sql});
  return migrations;
}

constexpr char kColour[] = "ALTER TABLE sweep ADD COLUMN colour TEXT; UPDATE sweep SET colour = 'red'";

std::vector<Migration> MigrationsBefore(const std::string& name) {
  std::vector<Migration> before;
  for (const Migration& migration : BuiltinMigrations()) {
    if (migration.name == name) return before;
    before.push_back(migration);
  }
  ADD_FAILURE() << "there is no migration " << name;
  return {};
}

class MigrationTest : public ::testing::Test {
 protected:
  // A database of version 1 with one sweep, as a killed coordinator leaves it: partly in the log.
  void SetUp() override {
    const auto database = Database::Open(folder_.path(), First());
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_EQ((*database)->version(), 1);
    (*database)->connection().exec(
        "INSERT INTO sweep (id, name, spec, points, trials, submitted_ms) VALUES (1, 'gamma', '{}', 4, 4, "
        "5)");
  }

  std::vector<std::string> Backups() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename();
      if (name != "inlier.db" && name != "inlier.db-wal" && name != "inlier.db-shm" && name != "inlier.lock")
        names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  static std::string Text(SQLite::Database& database, const std::string& sql) {
    return database.execAndGet(sql).getString();
  }
  // "version|columns called colour|name of the sweep|integrity" of the database as version 1 opens it.
  std::string State(const std::vector<Migration>& migrations) {
    const auto database = Database::Open(folder_.path(), migrations);
    if (!database.ok()) return database.status().ToString();
    SQLite::Database& connection = (*database)->connection();
    return Text(connection, "PRAGMA user_version") + "|" +
           Text(connection, "SELECT count(*) FROM pragma_table_info('sweep') WHERE name = 'colour'") + "|" +
           Text(connection, "SELECT group_concat(name) FROM sweep") + "|" +
           Text(connection, "PRAGMA integrity_check");
  }

  TemporaryFolder folder_;
};

TEST_F(MigrationTest, DatabaseOfTheFirstVersionIsBroughtForwardAfterABackupThatIsKept) {
  {
    const auto migrated = Database::Open(folder_.path(), WithSecond(kColour));
    ASSERT_TRUE(migrated.ok()) << migrated.status();
    EXPECT_EQ((*migrated)->version(), 2);
    EXPECT_EQ(Text((*migrated)->connection(), "SELECT colour FROM sweep"), "red");
  }
  ASSERT_THAT(Backups(),
              ElementsAre(MatchesRegex("inlier\\.db\\.v1\\.[0-9]{8}T[0-9]{6}\\.[0-9]{3}Z\\.backup")));
  {
    SQLite::Database backup((folder_.path() / Backups()[0]).string());
    EXPECT_EQ(Text(backup, "PRAGMA user_version"), "1");
    EXPECT_EQ(Text(backup, "PRAGMA application_id"), std::to_string(kApplicationId));
    EXPECT_EQ(Text(backup, "SELECT group_concat(name) FROM sweep"), "gamma");
    EXPECT_EQ(Text(backup, "SELECT count(*) FROM pragma_table_info('sweep') WHERE name = 'colour'"), "0");
  }
  // Opened again, there is nothing to bring forward and no second backup.
  const std::vector<std::string> before = Backups();
  EXPECT_EQ(State(WithSecond(kColour)), "2|1|gamma|ok");
  EXPECT_EQ(Backups().size(), before.size());
}

TEST_F(MigrationTest, BackupIsAStateThatTheOlderProgramOpens) {
  ASSERT_TRUE(Database::Open(folder_.path(), WithSecond(kColour)).ok());
  const TemporaryFolder restored;
  std::filesystem::copy_file(folder_.path() / Backups()[0], restored.path() / "inlier.db");
  const auto database = Database::Open(restored.path(), First());
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ(Text((*database)->connection(), "SELECT name FROM sweep"), "gamma");
}

TEST_F(MigrationTest, EachStepHasItsOwnBackup) {
  std::vector<Migration> migrations = WithSecond(kColour);
  migrations.push_back({3, "0003_of_the_test", "UPDATE sweep SET colour = 'blue'"});
  ASSERT_TRUE(Database::Open(folder_.path(), migrations).ok());
  EXPECT_THAT(Backups(), ElementsAre(MatchesRegex("inlier\\.db\\.v1\\..*\\.backup"),
                                     MatchesRegex("inlier\\.db\\.v2\\..*\\.backup")));
}

TEST_F(MigrationTest, FailedMigrationChangesNothing) {
  const absl::Status status =
      Database::Open(folder_.path(), WithSecond(std::string(kColour) + "; INSERT INTO nowhere VALUES (1)"))
          .status();
  EXPECT_THAT(status.ToString(), HasSubstr("no such table: nowhere"));
  EXPECT_EQ(State(First()), "1|0|gamma|ok");
}

TEST_F(MigrationTest, DatabaseOfANewerVersionIsRefusedWithBothVersionsAndUntouched) {
  ASSERT_TRUE(Database::Open(folder_.path(), WithSecond(kColour)).ok());
  const std::string refusal = State(First());
  EXPECT_THAT(refusal, HasSubstr("has schema version 2, written by a newer inlier"));
  EXPECT_THAT(refusal, HasSubstr("knows versions up to 1"));
  EXPECT_EQ(State(WithSecond(kColour)), "2|1|gamma|ok");
}

// A function of SQL, there in every connection that is opened from now on: ends the process as kill -9 does.
int RegisterDie(sqlite3* connection, const char**, const sqlite3_api_routines*) {
  return sqlite3_create_function(
      connection, "die", 0, SQLITE_UTF8, nullptr,
      [](sqlite3_context*, int, sqlite3_value**) { ::kill(::getpid(), SIGKILL); }, nullptr, nullptr);
}

TEST_F(MigrationTest, MigrationKilledAnywhereLeavesTheOldDatabaseWhole) {
  const std::vector<std::string> killed = {
      std::string("SELECT die(); ") + kColour,
      "ALTER TABLE sweep ADD COLUMN colour TEXT; SELECT die(); UPDATE sweep SET colour = 'red'",
      std::string(kColour) + "; SELECT die()",
      // Larger than the page cache, so that pages of the open transaction are in the log when it dies.
      std::string("PRAGMA cache_size = 10; ") + kColour +
          "; CREATE TABLE large AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
          "3000) "
          "SELECT i, randomblob(1000) AS b FROM n; SELECT die()"};
  for (const std::string& sql : killed) {
    const pid_t child = ::fork();
    if (child == 0) {
      sqlite3_auto_extension(reinterpret_cast<void (*)()>(&RegisterDie));
      (void)Database::Open(folder_.path(), WithSecond(sql));
      ::_exit(0);  // It did not die.
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << sql;
    EXPECT_EQ(State(First()), "1|0|gamma|ok") << sql;
  }
  EXPECT_EQ(Backups().size(), killed.size());
  EXPECT_EQ(State(WithSecond(kColour)), "2|1|gamma|ok");
}

class ViewsAtOpenTest : public StoreTest {};

TEST_F(ViewsAtOpenTest, ChangedAndUnknownViewsAreReplaced) {
  database_->connection().exec(
      "DROP VIEW failures; CREATE VIEW failures AS SELECT 1 AS one; CREATE VIEW older AS SELECT 2 AS two");
  Reopen();
  EXPECT_THAT(Rows("SELECT * FROM failures"), IsEmpty());
  EXPECT_THAT(Rows("SELECT * FROM older"), ElementsAre(HasSubstr("no such table: older")));
}

TEST_F(ViewsAtOpenTest, CheckpointEmptiesTheWal) {
  MustApply(Sweep(1));
  EXPECT_GT(database_->WalBytes(), 0u);
  EXPECT_TRUE(database_->Checkpoint(/*truncate=*/true).ok());
  EXPECT_EQ(database_->WalBytes(), 0u);
  EXPECT_EQ(std::filesystem::file_size(folder_.path() / "inlier.db-wal"), 0u);
}

// A database of the first version with one of everything goes forward without losing a row.
TEST(ControlMigrationTest, DatabaseOfTheFirstVersionGoesForwardWithItsData) {
  const TemporaryFolder folder;
  const std::vector<Migration> first(BuiltinMigrations().begin(), BuiltinMigrations().begin() + 1);
  const std::vector<std::string> tables = {"sweep",      "trial",   "trial_spec", "stage",
                                           "stage_spec", "attempt", "event",      "worker"};
  std::map<std::string, int> rows;
  {
    const auto old = Database::Open(folder.path(), first);
    // Its views name columns that the first version has not got: they are made anew at the next start.
    ASSERT_TRUE(old.ok()) << old.status();
    SQLite::Database& connection = (*old)->connection();
    connection.exec(absl::StrCat(
        "INSERT INTO sweep (id, name, spec, points, trials, next_point, request_id, submitted_ms) VALUES "
        "(1, 'gamma', '{\"name\":\"gamma\"}', 4, 4, 1, 'id', 1000), (2, 'other', '{\"name\":\"other\"}', 1, "
        "1, 0, "
        "NULL, 1000);"
        "INSERT INTO stage (id, kind, fingerprint, train_stage, state) VALUES "
        "(1, 'TRAIN_STAGE', '",
        Sha256Hex("f1"), "', NULL, 'RUNNING'), (2, 'EVALUATE_STAGE', '", Sha256Hex("f2"),
        "', 1, 'PENDING');"
        "INSERT INTO stage_spec VALUES (1, '{}'), (2, '{}');"
        "INSERT INTO trial (id, sweep, point, train_stage, evaluate_stage, state) VALUES (1, 1, 0, 1, 2, "
        "'RUNNING');"
        "INSERT INTO trial_spec VALUES (1, '{\"seed\":\"1\"}', '{}');"
        "INSERT INTO attempt (token, stage, number, worker, slot, started_ms) VALUES (7, 1, 1, 'w', 0, 2000);"
        "INSERT INTO event (at_ms, kind, sweep, message) VALUES (1, 'a', 1, 'first'), (2, 'b', 2, "
        "'elsewhere'), "
        "(3, 'c', NULL, 'about none'), (4, 'd', 1, 'second');"
        "INSERT INTO worker VALUES ('w', 'name', 'here', '1.0', 1, '[\"cpu\"]', 0, 1, 3000, 5)"));
    for (const std::string& table : tables)
      rows[table] = connection.execAndGet("SELECT count(*) FROM " + table).getInt();
  }
  const auto database = Database::Open(folder.path());
  ASSERT_TRUE(database.ok()) << database.status();
  SQLite::Database& connection = (*database)->connection();
  EXPECT_EQ((*database)->version(), BuiltinMigrations().back().to_version);
  for (const std::string& table : tables)
    EXPECT_EQ(connection.execAndGet("SELECT count(*) FROM " + table).getInt(), rows[table]) << table;
  EXPECT_EQ(connection.execAndGet("SELECT count(*) FROM pragma_foreign_key_check").getInt(), 0);
  const auto snapshot = Store(**database).Load();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  ASSERT_EQ(snapshot->sweeps.size(), 2u);
  EXPECT_FALSE(snapshot->sweeps[0].paused);
  EXPECT_EQ(snapshot->sweeps[0].revision, 1u);
  EXPECT_EQ(snapshot->sweeps[0].notices, 2u);
  EXPECT_EQ(snapshot->sweeps[1].notices, 1u);
  EXPECT_EQ(snapshot->sweeps[0].request_id, "id");
  ASSERT_EQ(snapshot->trials.size(), 1u);
  EXPECT_EQ(snapshot->trials[0].point, std::uint64_t{0});
  ASSERT_EQ(snapshot->live_attempts.size(), 1u);
  EXPECT_FALSE(snapshot->live_attempts[0].sweep);
  EXPECT_EQ(snapshot->live_attempts[0].yields, "");
  EXPECT_FALSE(snapshot->workers.at(0).held);
  EXPECT_EQ(
      connection
          .execAndGet("SELECT group_concat(message) FROM (SELECT message FROM event WHERE sweep = 1 AND "
                      "notice IS NOT NULL ORDER BY notice)")
          .getString(),
      "first,second");
}

TEST(OldDatabaseTest, StagesOfTheFirstSchemaKeepTheirSpecifications) {
  const TemporaryFolder folder;
  {
    const auto old = Database::Open(folder.path(), {BuiltinMigrations().front()});
    ASSERT_TRUE(old.ok()) << old.status();
    (*old)->connection().exec(
        absl::StrCat("INSERT INTO stage (id, kind, fingerprint) VALUES (1, 'TRAIN_STAGE', '", Sha256Hex("f1"),
                     "'); INSERT INTO stage_spec VALUES (1, '{\"seed\":7}')"));
  }
  const auto opened = Database::Open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto snapshot = Store(**opened).Load();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  ASSERT_EQ(snapshot->stages.size(), 1u);
  EXPECT_EQ(snapshot->unfinished_stages.at(0).spec_json, "{\"seed\":7}");
}

TEST(OldDatabaseTest, SpecificationsAreTakenApartAndReadAsTheyWere) {
  const TemporaryFolder folder;
  const std::string spec =
      R"({"seed":%,"model":{"bert":{"layers":2}},"dropout":1e-05,"training":{"steps":3},"evaluation":{}})";
  const auto of_seed = [&spec](const char* seed) { return absl::StrReplaceAll(spec, {{"%", seed}}); };
  {
    const auto old = Database::Open(folder.path(), MigrationsBefore("0006_lean"));
    ASSERT_TRUE(old.ok()) << old.status();
    (*old)->connection().exec(absl::StrCat(
        "INSERT INTO sweep (id, name, spec, points, trials, submitted_ms) VALUES (1, 'a', '{}', 3, 3, 1);"
        "INSERT INTO stage (id, kind, fingerprint, train_stage, spec_trial) VALUES "
        "(1, 'TRAIN_STAGE', '",
        Sha256Hex("f1"), "', NULL, 1), (2, 'EVALUATE_STAGE', '", Sha256Hex("f2"),
        "', 1, 2);"
        "INSERT INTO trial (id, sweep, point, train_stage, evaluate_stage) VALUES (1, 1, 0, 1, 2), (2, 1, 1, "
        "1, 2), (3, 1, 2, 1, 2);"
        "INSERT INTO trial_spec VALUES (1, '{}', '",
        of_seed("1"), "'), (2, '{}', '", of_seed("2"), R"('), (3, '{}', '{"seed":3}');)"));
  }
  const auto opened = Database::Open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  SQLite::Database& connection = (*opened)->connection();
  EXPECT_EQ(connection.execAndGet("SELECT group_concat(json, ' ') FROM spec_part").getString(),
            R"({"bert":{"layers":2}} {"steps":3} {})");
  const auto view = [&connection](const char* column) {
    return connection
        .execAndGet(
            absl::StrCat("SELECT group_concat(", column, ", ' ') FROM (SELECT * FROM trials ORDER BY point)"))
        .getString();
  };
  EXPECT_EQ(view("layers"), "2 2");
  EXPECT_EQ(view("seed"), "1 2 3");
  // The single values come first now.
  const std::string whole =
      R"({"seed":2,"dropout":1e-05,"model":{"bert":{"layers":2}},"training":{"steps":3},"evaluation":{}})";
  EXPECT_EQ(connection.execAndGet("SELECT spec FROM trials WHERE trial = 't-2'").getString(), whole);
  EXPECT_EQ(connection.execAndGet("SELECT spec FROM trials WHERE trial = 't-3'").getString(),
            R"({"seed":3})");
  const auto snapshot = Store(**opened).Load();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->unfinished_stages.at(1).spec_json, whole);
}

TEST(OldDatabaseTest, StagesWithAResultGetTheStepsOfTheirTraining) {
  const TemporaryFolder folder;
  {
    const auto old = Database::Open(folder.path(), MigrationsBefore("0008_stage_steps"));
    ASSERT_TRUE(old.ok()) << old.status();
    const std::string model = Sha256Hex("model");
    (*old)->connection().exec(absl::StrCat(
        "INSERT INTO stage (id, kind, fingerprint, train_stage) VALUES (1, 'TRAIN_STAGE', '", Sha256Hex("f1"),
        "', NULL), (2, 'EVALUATE_STAGE', '", Sha256Hex("f2"), "', 1), (3, 'TRAIN_STAGE', '", Sha256Hex("f3"),
        "', NULL);"
        "INSERT INTO attempt (token, stage, number, worker, slot, started_ms) VALUES (1, 1, 1, 'w', 0, 1);"
        "INSERT INTO artifact (token, kind, step, path, sha256, bytes, final, at_ms) VALUES "
        "(1, 'CHECKPOINT', 250, 'a', '', 1, 0, 1), (1, 'CHECKPOINT', 300, 'b', '",
        model, "', 1, 1, 1);",
        "UPDATE attempt SET ended_ms = 2, outcome = 'SUCCEEDED' WHERE token = 1;"
        "UPDATE stage SET state = 'SUCCEEDED', result_token = 1, checkpoint = '",
        model,
        "' WHERE id = 1;"
        "INSERT INTO attempt (token, stage, number, worker, slot, started_ms) VALUES (2, 2, 1, 'w', 0, 1);"
        "UPDATE attempt SET ended_ms = 2, outcome = 'SUCCEEDED' WHERE token = 2;"
        "UPDATE stage SET state = 'SUCCEEDED', result_token = 2 WHERE id = 2;"));
  }
  const auto opened = Database::Open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ((*opened)
                ->connection()
                .execAndGet("SELECT group_concat(steps) FROM (SELECT steps FROM stage ORDER BY id)")
                .getString(),
            "300,300,0");
}

}  // namespace
}  // namespace inlier
