// Which files Database::Open takes, which it refuses and with what words, and that a migration leaves a
// backup.
#include "coordinator/store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/fault_vfs.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

// The version that this program writes.
int Newest() { return BuiltinMigrations().back().to_version; }

std::string MessageOf(const TemporaryFolder& folder) {
  return Database::Open(folder.path()).status().ToString();
}

void MakeFile(const TemporaryFolder& folder, const std::string& sql) {
  SQLite::Database database((folder.path() / "inlier.db").string(),
                            SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(sql);
}

TEST(DatabaseTest, NewDatabaseIsMadeWithFolderAndIsDurable) {
  const TemporaryFolder folder;
  const auto database = Database::Open(folder.path() / "deep" / "state");
  ASSERT_TRUE(database.ok()) << database.status();
  EXPECT_EQ((*database)->path(), folder.path() / "deep" / "state" / "inlier.db");
  EXPECT_EQ((*database)->version(), Newest());
  SQLite::Database& connection = (*database)->connection();
  EXPECT_EQ(connection.execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(connection.execAndGet("PRAGMA synchronous").getInt(), 2);
  EXPECT_EQ(connection.execAndGet("PRAGMA foreign_keys").getInt(), 1);
  EXPECT_EQ(connection.execAndGet("PRAGMA application_id").getInt(), 0x696e6c72);
  EXPECT_EQ(connection.execAndGet("PRAGMA user_version").getInt(), Newest());
}

TEST(DatabaseTest, NewDatabaseHasNoBackup) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Database::Open(folder.path()).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("inlier.db", "inlier.lock"));
}

TEST(DatabaseTest, SecondCoordinatorIsRefusedAndToldThePid) {
  const TemporaryFolder folder;
  const auto first = Database::Open(folder.path());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(MessageOf(folder), "FAILED_PRECONDITION: the state folder " + folder.path().string() +
                                   " is in use by another coordinator (pid " + std::to_string(::getpid()) +
                                   "); stop that one, or name another folder with --set state_dir=FOLDER");
}

TEST(DatabaseTest, LockEndsWithTheDatabase) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Database::Open(folder.path()).ok());
  EXPECT_TRUE(Database::Open(folder.path()).ok());
}

TEST(DatabaseTest, DatabaseOfAnotherProgramIsRefusedAndUntouched) {
  const TemporaryFolder folder;
  MakeFile(folder, "PRAGMA application_id = 252006674; CREATE TABLE theirs (x)");
  EXPECT_EQ(MessageOf(folder), "FAILED_PRECONDITION: " + (folder.path() / "inlier.db").string() +
                                   " is a database of another program (application_id 0x0f055112, inlier's "
                                   "is 0x696e6c72); name another "
                                   "folder with --set state_dir=FOLDER");
  SQLite::Database theirs((folder.path() / "inlier.db").string());
  EXPECT_EQ(theirs.execAndGet("SELECT group_concat(name) FROM sqlite_schema").getString(), "theirs");
}

TEST(DatabaseTest, DatabaseWithoutAnyMarkButWithTablesIsRefused) {
  const TemporaryFolder folder;
  MakeFile(folder, "CREATE TABLE theirs (x)");
  EXPECT_THAT(MessageOf(folder), HasSubstr("is a database of another program (application_id 0x00000000"));
}

TEST(DatabaseTest, NewerDatabaseIsRefusedWithBothVersions) {
  const TemporaryFolder folder;
  MakeFile(folder, "PRAGMA application_id = 1768844402; PRAGMA user_version = 999; CREATE TABLE sweep (x)");
  EXPECT_EQ(MessageOf(folder), "FAILED_PRECONDITION: " + (folder.path() / "inlier.db").string() +
                                   " has schema version 999, written by a newer inlier; this one (" +
                                   Version() + ") knows versions up to " +
                                   absl::StrCat(Newest()) +
                                   ": use the newer program, or name another folder "
                                   "with --set state_dir=FOLDER");
}

TEST(DatabaseTest, FileThatIsNoDatabaseIsRefusedAndUntouched) {
  const TemporaryFolder folder;
  const std::string text(2000, 'x');
  std::ofstream(folder.path() / "inlier.db") << text;
  EXPECT_EQ(MessageOf(folder), "FAILED_PRECONDITION: opening " + (folder.path() / "inlier.db").string() +
                                   ": file is not a database; it is no SQLite database: move it away, or "
                                   "name another folder with --set "
                                   "state_dir=FOLDER");
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "inlier.db"), text.size());
}

TEST(DatabaseTest, ReadOnlyFileIsRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Database::Open(folder.path()).ok());
  const FaultVfs vfs;
  vfs.SetReadOnly(true);
  EXPECT_EQ(MessageOf(folder), "FAILED_PRECONDITION: " + (folder.path() / "inlier.db").string() +
                                   " cannot be written; make the file and its folder writable for this user, "
                                   "or name another folder with --set "
                                   "state_dir=FOLDER");
}

TEST(DatabaseTest, StateFolderThatIsAFileIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "state") << "x";
  const absl::Status status = Database::Open(folder.path() / "state").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr((folder.path() / "state").string()));
}

std::vector<Migration> OneMoreMigration() {
  std::vector<Migration> migrations = BuiltinMigrations();
  migrations.push_back({Newest() + 1, "9999_colour",
                        "ALTER TABLE sweep ADD COLUMN colour TEXT; UPDATE sweep SET colour = 'red'"});
  return migrations;
}

class MigrationTest : public StoreTest {};

TEST_F(MigrationTest, OlderDatabaseIsBroughtForwardAfterABackup) {
  MustApply(Sweep(1));
  Close();
  const auto migrated = Database::Open(folder_.path(), OneMoreMigration());
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_EQ((*migrated)->version(), Newest() + 1);
  EXPECT_EQ((*migrated)->connection().execAndGet("SELECT colour FROM sweep").getString(), "red");
  SQLite::Database backup((folder_.path() / absl::StrCat("inlier.db.v", Newest(), ".backup")).string());
  EXPECT_EQ(backup.execAndGet("PRAGMA user_version").getInt(), Newest());
  EXPECT_EQ(backup.execAndGet("PRAGMA application_id").getInt(), 0x696e6c72);
  EXPECT_EQ(backup.execAndGet("SELECT group_concat(name) FROM sweep").getString(), "gamma");
  EXPECT_EQ(
      backup.execAndGet("SELECT count(*) FROM pragma_table_info('sweep') WHERE name = 'colour'").getInt(), 0);
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
    connection.exec(
        "INSERT INTO sweep (id, name, spec, points, trials, next_point, request_id, submitted_ms) VALUES "
        "(1, 'gamma', '{\"name\":\"gamma\"}', 4, 4, 1, 'id', 1000), (2, 'other', '{\"name\":\"other\"}', 1, "
        "1, 0, "
        "NULL, 1000);"
        "INSERT INTO stage (id, kind, fingerprint) VALUES (1, 'TRAIN_STAGE', 'f1');"
        "INSERT INTO stage_spec VALUES (1, '{}');"
        "INSERT INTO trial (id, sweep, point, train_stage) VALUES (1, 1, 0, 1);"
        "INSERT INTO trial_spec VALUES (1, '{\"seed\":\"1\"}', '{}');"
        "INSERT INTO attempt (token, stage, number, worker, slot, started_ms) VALUES (7, 1, 1, 'w', 0, 2000);"
        "INSERT INTO event (at_ms, kind, sweep, message) VALUES (1, 'a', 1, 'first'), (2, 'b', 2, "
        "'elsewhere'), "
        "(3, 'c', NULL, 'about none'), (4, 'd', 1, 'second');"
        "INSERT INTO worker VALUES ('w', 'name', 'here', '1.0', 1, '[\"cpu\"]', 0, 1, 3000, 5)");
    for (const std::string& table : tables)
      rows[table] = connection.execAndGet("SELECT count(*) FROM " + table).getInt();
  }
  const auto database = Database::Open(folder.path());
  ASSERT_TRUE(database.ok()) << database.status();
  SQLite::Database& connection = (*database)->connection();
  EXPECT_EQ((*database)->version(), Newest());
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

TEST_F(MigrationTest, FailedMigrationChangesNothing) {
  MustApply(Sweep(1));
  Close();
  std::vector<Migration> migrations = BuiltinMigrations();
  migrations.push_back({Newest() + 1, "9999_broken",
                        "ALTER TABLE sweep ADD COLUMN colour TEXT; INSERT INTO nowhere VALUES (1)"});
  const absl::Status status = Database::Open(folder_.path(), migrations).status();
  EXPECT_THAT(status.ToString(), HasSubstr("no such table: nowhere"));
  Open();
  EXPECT_EQ(database_->version(), Newest());
  EXPECT_EQ(database_->connection()
                .execAndGet("SELECT count(*) FROM pragma_table_info('sweep') WHERE name = 'colour'")
                .getInt(),
            0);
  EXPECT_THAT(Rows("SELECT sweep FROM sweeps"), ::testing::ElementsAre("gamma"));
}

TEST_F(MigrationTest, DatabaseOfTheTestsNewerVersionIsRefusedByThisOne) {
  Close();
  ASSERT_TRUE(Database::Open(folder_.path(), OneMoreMigration()).ok());
  EXPECT_THAT(MessageOf(folder_),
              HasSubstr(absl::StrCat("has schema version ", Newest() + 1, ", written by a newer inlier")));
}

TEST(OldDatabaseTest, StagesOfTheFirstSchemaKeepTheirSpecifications) {
  const TemporaryFolder folder;
  {
    const auto old = Database::Open(folder.path(), {BuiltinMigrations().front()});
    ASSERT_TRUE(old.ok()) << old.status();
    (*old)->connection().exec(
        "INSERT INTO stage (id, kind, fingerprint) VALUES (1, 'TRAIN_STAGE', 'f1');"
        "INSERT INTO stage_spec VALUES (1, '{\"seed\":7}')");
  }
  const auto opened = Database::Open(folder.path());
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto snapshot = Store(**opened).Load();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  ASSERT_EQ(snapshot->stages.size(), 1u);
  EXPECT_EQ(snapshot->stages[0].spec_json, "{\"seed\":7}");
}

TEST_F(MigrationTest, ChangedAndUnknownViewsAreReplacedAtOpen) {
  database_->connection().exec(
      "DROP VIEW failures; CREATE VIEW failures AS SELECT 1 AS one; CREATE VIEW older AS SELECT 2 AS two");
  Reopen();
  EXPECT_THAT(Rows("SELECT * FROM failures"), ::testing::IsEmpty());
  EXPECT_THAT(Rows("SELECT * FROM older"), ::testing::ElementsAre(HasSubstr("no such table: older")));
}

TEST_F(MigrationTest, CheckpointEmptiesTheWal) {
  MustApply(Sweep(1));
  EXPECT_GT(database_->WalBytes(), 0u);
  EXPECT_TRUE(database_->Checkpoint(/*truncate=*/true).ok());
  EXPECT_EQ(database_->WalBytes(), 0u);
  EXPECT_EQ(std::filesystem::file_size(folder_.path() / "inlier.db-wal"), 0u);
}

}  // namespace
}  // namespace inlier
