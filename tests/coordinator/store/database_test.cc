// Files that Database::Open takes, files that it refuses, and its messages.
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

int NewestVersion() { return BuiltinMigrations().back().to_version; }

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
  EXPECT_EQ((*database)->version(), NewestVersion());
  SQLite::Database& connection = (*database)->connection();
  EXPECT_EQ(connection.execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(connection.execAndGet("PRAGMA synchronous").getInt(), 2);
  EXPECT_EQ(connection.execAndGet("PRAGMA foreign_keys").getInt(), 1);
  EXPECT_EQ(connection.execAndGet("PRAGMA application_id").getInt(), 0x696e6c72);
  EXPECT_EQ(connection.execAndGet("PRAGMA user_version").getInt(), NewestVersion());
}

TEST(DatabaseTest, NewDatabaseHasNoBackup) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Database::Open(folder.path()).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("inlier.db", "inlier.lock"));
}

TEST(DatabaseTest, SecondCoordinatorIsRefusedWithThePid) {
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

TEST(DatabaseTest, AFullDiskIsReportedAsFull) {
  const FaultVfs disk;
  const TemporaryFolder folder;
  ASSERT_TRUE(Database::Open(folder.path()).ok());
  disk.SetFull(true);
  const std::string message = MessageOf(folder);
  EXPECT_THAT(message, HasSubstr("RESOURCE_EXHAUSTED: opening " + (folder.path() / "inlier.db").string()));
  EXPECT_THAT(message, HasSubstr("; free space on the file system of the state folder"));
  disk.SetFull(false);
  EXPECT_TRUE(Database::Open(folder.path()).ok());
}

TEST(DatabaseTest, ACheckpointBeyondAQuotaReportsItAndLosesNothing) {
  const FaultVfs disk;
  const TemporaryFolder folder;
  const auto database = Database::Open(folder.path());
  ASSERT_TRUE(database.ok()) << database.status();
  (*database)->connection().exec("CREATE TABLE filler AS SELECT hex(zeroblob(100000)) AS x");
  disk.SetOverQuota(true);
  const absl::Status moved = (*database)->CheckpointWal(/*truncate=*/false);
  EXPECT_EQ(moved.ToString(), "RESOURCE_EXHAUSTED: copying the log into " +
                                  (folder.path() / "inlier.db").string() +
                                  ": database or disk is full; free space on the file system of the state "
                                  "folder, or raise its quota");
  disk.SetOverQuota(false);
  EXPECT_TRUE((*database)->CheckpointWal(/*truncate=*/false).ok());
  EXPECT_EQ((*database)->WalBytes(), 0u);
}

TEST(DatabaseTest, ALogThatWasCopiedIsWrittenOverAndShortenedToItsLimit) {
  const TemporaryFolder folder;
  const auto database = Database::Open(folder.path());
  ASSERT_TRUE(database.ok()) << database.status();
  const auto log_bytes = [&] { return std::filesystem::file_size(folder.path() / "inlier.db-wal"); };
  SQLite::Database& connection = (*database)->connection();
  connection.exec("CREATE TABLE filler AS SELECT hex(zeroblob(1500000)) AS x");
  const std::uintmax_t used = log_bytes();
  ASSERT_GT(used, 3'000'000u);
  ASSERT_TRUE((*database)->CheckpointWal(/*truncate=*/false).ok());
  EXPECT_EQ((*database)->WalBytes(), 0u);
  connection.exec("CREATE TABLE one (x)");
  EXPECT_EQ(log_bytes(), used);
  ASSERT_TRUE((*database)->CheckpointWal(/*truncate=*/false).ok());
  connection.exec("PRAGMA journal_size_limit = 1048576");
  connection.exec("CREATE TABLE two (x)");
  EXPECT_EQ(log_bytes(), 1u << 20);
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
  MakeFile(folder, "PRAGMA application_id = 1768844402; PRAGMA user_version = 777; CREATE TABLE sweep (x)");
  EXPECT_EQ(MessageOf(folder), "FAILED_PRECONDITION: " + (folder.path() / "inlier.db").string() +
                                   " has schema version 777, written by a newer inlier; this one (" +
                                   Version() + ") knows versions up to " + std::to_string(NewestVersion()) +
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

}  // namespace
}  // namespace inlier
