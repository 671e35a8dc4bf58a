// Migrations of the schema: forward, each in one transaction after a backup that is kept, also when the
// process is killed in between. The lists here are the first file of the schema, as it was released, and
// steps of the test's own; so that steps added later change nothing here.
#include <SQLiteCpp/SQLiteCpp.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "coordinator/store/backup.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/status_matchers.h"

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

class MigrationTest : public ::testing::Test {
 protected:
  // A database of version 1 with one sweep, as a killed coordinator leaves it: partly in the log.
  void SetUp() override {
    const auto database = Database::Open(folder_.path(), First()).value();
    ASSERT_EQ(database->version(), 1);
    database->connection().exec(
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
    const auto migrated = Database::Open(folder_.path(), WithSecond(kColour)).value();
    EXPECT_EQ(migrated->version(), 2);
    EXPECT_EQ(Text(migrated->connection(), "SELECT colour FROM sweep"), "red");
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
  const auto database = Database::Open(restored.path(), First()).value();
  EXPECT_EQ(Text(database->connection(), "SELECT name FROM sweep"), "gamma");
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
  EXPECT_TRUE(database_->CheckpointWal(/*truncate=*/true).ok());
  EXPECT_EQ(database_->WalBytes(), 0u);
  EXPECT_EQ(std::filesystem::file_size(folder_.path() / "inlier.db-wal"), 0u);
}

// By a table that such a database has, or a column that it has not, at any version.
TEST(OldDatabaseTest, ADatabaseFromBeforeTheFirstReleaseIsRefusedWithTheRemedyAndUntouched) {
  using Old = std::pair<int, const char*>;
  for (const auto& [version, table] :
       {Old{1, "trial_spec (trial INTEGER)"}, Old{9, "trial_spec (trial INTEGER)"},
        Old{1, "trial (id INTEGER PRIMARY KEY, labels TEXT, spec TEXT)"},
        Old{1, "attempt (token INTEGER PRIMARY KEY, slot INTEGER)"}}) {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "inlier.db";
    {
      SQLite::Database old(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      old.exec(absl::StrCat("CREATE TABLE ", table, "; PRAGMA application_id = ", kApplicationId,
                            "; PRAGMA user_version = ", version));
    }
    EXPECT_THAT(
        Database::Open(folder.path()),
        StatusIs(
            absl::StatusCode::kFailedPrecondition,
            absl::StrCat(file,
                         " was made before the first release, and its tables cannot be read: start with an "
                         "empty state folder (--set state_dir=FOLDER), or keep using the program that made "
                         "it")));
    SQLite::Database same(file);
    EXPECT_EQ(same.execAndGet("PRAGMA user_version").getInt(), version);
    EXPECT_EQ(same.execAndGet("SELECT count(*) FROM sqlite_schema").getInt(), 1);
  }
}

}  // namespace
}  // namespace inlier
