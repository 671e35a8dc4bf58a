// Files that Database::Open takes, files that it refuses, and its messages.
#include "coordinator/store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/version.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/folder/binding.h"
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
  const auto database = Database::Open(folder.path() / "deep" / "state").value();
  EXPECT_EQ(database->path(), folder.path() / "deep" / "state" / "inlier.db");
  EXPECT_EQ(database->version(), NewestVersion());
  SQLite::Database& connection = database->connection();
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
  const auto first = Database::Open(folder.path()).value();
  EXPECT_EQ(MessageOf(folder), "FAILED_PRECONDITION: the state folder " + folder.path().string() +
                                   " is in use by another coordinator (pid " + std::to_string(::getpid()) +
                                   "); stop that one, or name another folder with --set state_dir=FOLDER");
}

TEST(DatabaseTest, LockEndsWithTheDatabase) {
  const TemporaryFolder folder;
  ASSERT_TRUE(Database::Open(folder.path()).ok());
  EXPECT_TRUE(Database::Open(folder.path()).ok());
}

// Which database a folder has.
class FolderTest : public ::testing::Test {
 protected:
  std::filesystem::path File(const std::string& name) const { return folder_.path() / name; }
  // A folder with a database and a checkpoint of its attempt; the database's id.
  std::string Make() {
    const auto database = Database::Open(folder_.path()).value();
    WriteCheckpoint("old");
    return database->id();
  }
  void WriteCheckpoint(const std::string& content) {
    std::filesystem::create_directories(File("attempts/st-1/1"));
    std::ofstream(File("attempts/st-1/1/checkpoint.safetensors")) << content;
  }
  std::string Checkpoint() const {
    return ReadFile(File("attempts/st-1/1/checkpoint.safetensors")).value_or("none");
  }
  absl::StatusOr<std::string> OpenNew() {
    auto database = Database::Open(folder_.path(), BuiltinMigrations(), std::nullopt, /*make_new=*/true);
    if (!database.ok()) return database.status();
    return (*database)->id();
  }

  const TemporaryFolder folder_;
};

TEST_F(FolderTest, TheIdOfADatabaseStays) {
  const std::string id = Make();
  EXPECT_GE(id.size(), 16u);
  EXPECT_EQ(Database::Open(folder_.path()).value()->id(), id);
  const TemporaryFolder other;
  EXPECT_NE((*Database::Open(other.path()))->id(), id);
}

TEST_F(FolderTest, NoDatabaseTakesThePlaceOfAMissingOne) {
  Make();
  std::filesystem::rename(File("inlier.db"), File("away"));
  EXPECT_EQ(MessageOf(folder_),
            "FAILED_PRECONDITION: there is no " + File("inlier.db").string() + ", but " +
                File("attempts").string() +
                " has files of one. Nothing was changed. Put the database back (with its "
                "-wal file, if it has one), or copy a backup to " +
                File("inlier.db").string() +
                "; --new-database starts with an empty one, and keeps the files of the other in " +
                File("set-aside").string());
  EXPECT_FALSE(std::filesystem::exists(File("inlier.db")));
  // Also without attempts, and where only the log is left.
  std::filesystem::remove_all(File("attempts"));
  EXPECT_THAT(MessageOf(folder_), HasSubstr("but a coordinator has worked on one here. Nothing was changed"));
  std::filesystem::remove(File("inlier.lock"));
  std::ofstream(File("inlier.db-wal")) << "frames";
  EXPECT_THAT(MessageOf(folder_), HasSubstr("but its log, " + File("inlier.db-wal").string() + ", is there"));
  EXPECT_EQ(ReadFile(File("inlier.db-wal")).value_or(""), "frames");
}

// A worker that starts at the same moment tries whether it can write there.
TEST_F(FolderTest, AProbeOfAWorkerIsNoSignOfADatabase) {
  std::filesystem::create_directories(File("artifacts"));
  std::ofstream(File("artifacts") / ".writable.a1B2c3").close();
  EXPECT_EQ(MessageOf(folder_), "OK");
}

TEST_F(FolderTest, AnEmptyFileIsNoDatabase) {
  std::ofstream(File("inlier.db")).close();
  EXPECT_THAT(MessageOf(folder_), HasSubstr(File("inlier.db").string() + " is empty. Nothing was changed"));
  EXPECT_EQ(std::filesystem::file_size(File("inlier.db")), 0u);
}

TEST_F(FolderTest, AFirstStartThatWasKilledIsRepeated) {
  {
    const auto lock = LockStateFolder(folder_.path());
    ASSERT_TRUE(NoteNewDatabase(folder_.path(), *lock).ok());
    std::ofstream(File("inlier.db")).close();
  }
  EXPECT_TRUE(Database::Open(folder_.path()).ok());
}

TEST_F(FolderTest, ANewDatabaseKeepsTheFilesOfTheOldOneWhichReturnWithIt) {
  const std::string old = Make();
  std::filesystem::rename(File("inlier.db"), File("away"));
  const auto made = OpenNew().value();
  EXPECT_EQ(Checkpoint(), "none");
  EXPECT_EQ(ReadFile(File("set-aside/" + old + "/attempts/st-1/1/checkpoint.safetensors")).value_or(""),
            "old");
  WriteCheckpoint("new");
  EXPECT_THAT(OpenNew().status().ToString(), HasSubstr("is there: start without --new-database"));
  std::filesystem::rename(File("inlier.db"), File("second"));
  std::filesystem::rename(File("away"), File("inlier.db"));
  ASSERT_TRUE(Database::Open(folder_.path()).ok());
  EXPECT_EQ(Checkpoint(), "old");
  std::filesystem::rename(File("inlier.db"), File("away"));
  std::filesystem::rename(File("second"), File("inlier.db"));
  ASSERT_TRUE(Database::Open(folder_.path()).ok());
  EXPECT_EQ(Checkpoint(), "new");
}

TEST_F(FolderTest, ABackupOfTheDatabaseHasItsFiles) {
  const std::string id = Make();
  ASSERT_TRUE(BackupStateFolder(folder_.path(), File("backup")).ok());
  std::filesystem::remove(File("inlier.db"));
  std::filesystem::rename(File("backup"), File("inlier.db"));
  EXPECT_EQ(Database::Open(folder_.path()).value()->id(), id);
  EXPECT_EQ(Checkpoint(), "old");
}

TEST_F(FolderTest, ACopiedFolderIsToldFromAMovedOne) {
  const std::string id = Make();
  const TemporaryFolder other;
  const std::filesystem::path here = other.path() / "state";
  std::filesystem::copy(folder_.path(), here, std::filesystem::copy_options::recursive);
  EXPECT_TRUE(AlsoHas(folder_.path(), here, id));
  EXPECT_FALSE(AlsoHas("", here, id));
  EXPECT_FALSE(AlsoHas(here, here, id));
  std::filesystem::create_directory_symlink(here, other.path() / "link");
  EXPECT_FALSE(AlsoHas(other.path() / "link", here, id));
  // The first one's place has another database, or none.
  std::filesystem::remove(File("inlier.db"));
  EXPECT_FALSE(AlsoHas(folder_.path(), here, id));
  ASSERT_TRUE(OpenNew().ok());
  EXPECT_FALSE(AlsoHas(folder_.path(), here, id));
}

// A restored backup of an earlier version gets the identity that its database got when it was brought forward.
TEST_F(FolderTest, ADatabaseFromBeforeGetsTheSameIdEachTime) {
  const std::vector<Migration> before(BuiltinMigrations().begin(), BuiltinMigrations().begin() + 2);
  {
    const auto old = Database::Open(folder_.path(), before).value();
    old->connection().exec(
        "INSERT INTO sweep (id, name, spec, points, trials, request_id, submitted_ms) VALUES (1, 'a', '{}', "
        "1, 1, "
        "'5f1c', 1700000000000)");
  }
  std::filesystem::copy_file(File("inlier.db"), File("backup"));
  const std::string id = Make();
  EXPECT_EQ(id, "of-1700000000000-35663163");
  std::filesystem::rename(File("backup"), File("inlier.db"));
  EXPECT_EQ((*Database::Open(folder_.path()))->id(), id);
  EXPECT_EQ(Checkpoint(), "old");
}

// SQLite would apply the log to it.
TEST_F(FolderTest, ALogIsNotAppliedToABackupThatWasCopiedOverItsDatabase) {
  for (const bool in_place : {false, true}) {
    const TemporaryFolder folder, crashed;
    const auto copy = [&](const char* name) {
      std::filesystem::copy_file(folder.path() / name, crashed.path() / name);
    };
    const auto database = Database::Open(folder.path()).value();
    ASSERT_TRUE(BackupStateFolder(folder.path(), folder.path() / "backup").ok());
    database->connection().exec("CREATE TABLE later (x)");
    for (const char* name : {"inlier.db", "inlier.db-wal", "inlier.lock"})
      copy(name);  // As a kill leaves them.
    const std::filesystem::path file = crashed.path() / "inlier.db";
    if (!in_place) std::filesystem::remove(file);
    std::filesystem::copy_file(folder.path() / "backup", file,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(MessageOf(crashed),
                HasSubstr("inlier.db-wal is the log of another file than " + file.string()));
    std::filesystem::remove(crashed.path() / "inlier.db-wal");
    EXPECT_TRUE(Database::Open(crashed.path()).ok());
  }
}

// The first page has the size that the file will have, and the rest is in the log still: without it the file cannot be read.
TEST_F(FolderTest, AMoveOfTheLogThatWasCutShortGoesOn) {
  const TemporaryFolder folder, crashed;
  const auto database = Database::Open(folder.path()).value();
  database->connection().exec("CREATE TABLE later AS SELECT randomblob(100000) AS x");
  for (const char* name : {"inlier.db", "inlier.db-wal", "inlier.lock"})
    std::filesystem::copy_file(folder.path() / name, crashed.path() / name);
  const std::string log = *ReadFile(crashed.path() / "inlier.db-wal");
  const std::size_t page = 4096, frame_header = 24;
  std::string first;
  for (std::size_t at = 32; at + frame_header + page <= log.size(); at += frame_header + page) {
    if (log.substr(at, 4) == std::string("\0\0\0\1", 4)) first = log.substr(at + frame_header, page);
  }
  ASSERT_EQ(first.size(), page);
  std::fstream(crashed.path() / "inlier.db", std::ios::in | std::ios::out | std::ios::binary) << first;
  const auto again = Database::Open(crashed.path()).value();
  EXPECT_EQ(again->connection().execAndGet("SELECT length(x) FROM later").getInt(), 100000);
}

TEST_F(FolderTest, FilesThatWereReplacedAreSeenAndWhatWasCommittedIsRescued) {
  for (const std::string name : {"inlier.db", "inlier.db-wal", "inlier.lock"}) {
    const TemporaryFolder folder;
    const auto database = Database::Open(folder.path()).value();
    database->connection().exec("CREATE TABLE kept AS SELECT 7 AS x");
    EXPECT_EQ(database->DisplacedFile(), "");
    const std::filesystem::path file = folder.path() / name;
    std::filesystem::rename(file, folder.path() / "moved");
    EXPECT_EQ(database->DisplacedFile(), file);
    std::filesystem::copy_file(folder.path() / "moved", file);
    EXPECT_EQ(database->DisplacedFile(), file);
    const auto rescued = database->Rescue().value();
    EXPECT_EQ(SQLite::Database(rescued.string()).execAndGet("SELECT x FROM kept").getInt(), 7);
    std::filesystem::remove(file);
    std::filesystem::rename(folder.path() / "moved", file);
    EXPECT_EQ(database->DisplacedFile(), "");
  }
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
  const auto database = Database::Open(folder.path()).value();
  database->connection().exec("CREATE TABLE filler AS SELECT hex(zeroblob(100000)) AS x");
  disk.SetOverQuota(true);
  const absl::Status moved = database->CheckpointWal(/*truncate=*/false);
  EXPECT_EQ(moved.ToString(), "RESOURCE_EXHAUSTED: copying the log into " +
                                  (folder.path() / "inlier.db").string() +
                                  ": database or disk is full; free space on the file system of the state "
                                  "folder, or raise its quota");
  disk.SetOverQuota(false);
  EXPECT_TRUE(database->CheckpointWal(/*truncate=*/false).ok());
  EXPECT_EQ(database->WalBytes(), 0u);
}

TEST(DatabaseTest, ALogThatWasCopiedIsWrittenOverAndShortenedToItsLimit) {
  const TemporaryFolder folder;
  const auto database = Database::Open(folder.path()).value();
  const auto log_bytes = [&] { return std::filesystem::file_size(folder.path() / "inlier.db-wal"); };
  SQLite::Database& connection = database->connection();
  connection.exec("CREATE TABLE filler AS SELECT hex(zeroblob(1500000)) AS x");
  const std::uintmax_t used = log_bytes();
  ASSERT_GT(used, 3'000'000u);
  ASSERT_TRUE(database->CheckpointWal(/*truncate=*/false).ok());
  EXPECT_EQ(database->WalBytes(), 0u);
  connection.exec("CREATE TABLE one (x)");
  EXPECT_EQ(log_bytes(), used);
  ASSERT_TRUE(database->CheckpointWal(/*truncate=*/false).ok());
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
                                   ": file is not a database; it is not an SQLite database: move it away, or "
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
