#include "coordinator/store/log_vfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/forwarding_file.h"
#include "coordinator/store/sqlite_handle.h"
#include "tests/coordinator/store/fault_vfs.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;

class LogVfsTest : public testing::Test {
 protected:
  LogVfsTest() : writer_(Open(folder_.path() / "x.db", LogVfs())) {
    EXPECT_EQ(Run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
                  "CREATE TABLE piece (id INTEGER PRIMARY KEY, bytes TEXT)"),
              SQLITE_OK);
  }

  static SqliteHandle Open(const std::filesystem::path& file, const char* vfs) {
    sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
              SQLITE_OK);
    return SqliteHandle(raw);
  }
  int Run(const std::string& sql) {
    return sqlite3_exec(writer_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  }
  // So many pages and a few.
  int Insert(int id, int pages) {
    return Run(absl::StrCat("INSERT INTO piece VALUES (", id, ", hex(zeroblob(", 2000 * pages, ")))"));
  }
  static std::string Content(sqlite3* connection) {
    const auto rows =
        QueryTexts(connection, "SELECT group_concat(id || ':' || length(bytes), ' ') FROM piece");
    return rows.ok() ? rows->at(0).at(0) : std::string(rows.status().message());
  }

  // Of the files as kill -9 leaves them.
  std::string ContentAfterCrash() const {
    const TemporaryFolder copy;
    for (const char* file : {"x.db", "x.db-wal"})
      std::filesystem::copy_file(folder_.path() / file, copy.path() / file);
    return Content(Open(copy.path() / "x.db", RealVfs()->zName).get());
  }

  FaultVfs disk_;
  TemporaryFolder folder_;
  SqliteHandle writer_;
};

TEST_F(LogVfsTest, ACommitIsOneWriteAndOneSync) {
  ASSERT_EQ(Insert(1, 1), SQLITE_OK);
  const int writes = disk_.writes(), syncs = disk_.syncs();
  ASSERT_EQ(Insert(2, 12), SQLITE_OK);
  EXPECT_EQ(disk_.writes() - writes, 1);
  EXPECT_EQ(disk_.syncs() - syncs, 1);
  EXPECT_EQ(Content(Open(folder_.path() / "x.db", nullptr).get()), "1:4000 2:48000");
}

TEST_F(LogVfsTest, WhatDidNotFitInTheCacheIsReadBack) {
  ASSERT_EQ(Run("PRAGMA cache_size = 5; BEGIN"), SQLITE_OK);
  for (int i = 1; i <= 20; ++i) ASSERT_EQ(Insert(i, 50), SQLITE_OK);
  EXPECT_EQ(Content(Open(folder_.path() / "x.db", nullptr).get()), "");
  ASSERT_EQ(Run("UPDATE piece SET bytes = bytes || 'x' WHERE id IN (1, 20); COMMIT"), SQLITE_OK);
  const auto rows = QueryTexts(Open(folder_.path() / "x.db", nullptr).get(),
                               "SELECT id, length(bytes) FROM piece WHERE id IN (1, 2, 20)");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre(ElementsAre("1", "200001"), ElementsAre("2", "200000"),
                                 ElementsAre("20", "200001")));
}

TEST_F(LogVfsTest, AFullDiskCostsTheTransactionAndNoMore) {
  ASSERT_EQ(Insert(1, 3), SQLITE_OK);
  disk_.SetFull(true);
  EXPECT_EQ(Insert(2, 3), SQLITE_FULL);
  EXPECT_EQ(Insert(3, 30), SQLITE_FULL);
  disk_.SetFull(false);
  ASSERT_EQ(Insert(4, 2), SQLITE_OK);
  EXPECT_EQ(Content(writer_.get()), "1:12000 4:8000");
  EXPECT_EQ(Content(Open(folder_.path() / "x.db", nullptr).get()), "1:12000 4:8000");
  EXPECT_THAT(*QueryTexts(writer_.get(), "PRAGMA integrity_check"), ElementsAre(ElementsAre("ok")));
}

// Nor by a crash when there is space for one write again, whatever is written first.
TEST_F(LogVfsTest, WhatFoundNoSpaceNeverComesBack) {
  ASSERT_EQ(Insert(1, 3), SQLITE_OK);
  disk_.SetFull(true);
  EXPECT_EQ(Insert(2, 3), SQLITE_FULL);
  disk_.SetFull(true, /*after_writes=*/1);
  EXPECT_EQ(Insert(3, 60), SQLITE_FULL);  // More than one write.
  EXPECT_EQ(ContentAfterCrash(), "1:12000");
}

// A reserved log has space for the commit when the file of its index has none to grow.
TEST_F(LogVfsTest, WhatFoundNoSpaceInTheIndexNeverComesBack) {
  ASSERT_EQ(Insert(1, 3), SQLITE_OK);
  disk_.SetFull(true, /*after_writes=*/1000000);
  EXPECT_EQ(Insert(2, 4200), SQLITE_FULL);  // A block of the index is for 4,096 pages.
  EXPECT_EQ(ContentAfterCrash(), "1:12000");
  disk_.SetFull(false);
  ASSERT_EQ(Insert(3, 4200), SQLITE_OK);
  EXPECT_EQ(Content(Open(folder_.path() / "x.db", nullptr).get()), "1:12000 3:16800000");
}

TEST_F(LogVfsTest, AReservedLogIsWrittenOverAndReadToItsEndOnly) {
  ASSERT_EQ(Insert(1, 1), SQLITE_OK);
  ASSERT_TRUE(ReserveLog(writer_.get(), 1000000).ok());
  EXPECT_EQ(LogFileBytes(writer_.get()), 1000000);
  ASSERT_EQ(Insert(2, 10), SQLITE_OK);
  EXPECT_EQ(LogFileBytes(writer_.get()), 1000000);
  EXPECT_EQ(ContentAfterCrash(), "1:4000 2:40000");
}

TEST_F(LogVfsTest, ALogThatCannotBeReservedStaysAsItIs) {
  ASSERT_EQ(Insert(1, 1), SQLITE_OK);
  const std::int64_t before = LogFileBytes(writer_.get());
  disk_.SetFull(true);
  EXPECT_TRUE(absl::IsResourceExhausted(ReserveLog(writer_.get(), 1000000)));
  disk_.SetFull(false);
  EXPECT_EQ(LogFileBytes(writer_.get()), before);
  EXPECT_EQ(Insert(2, 1), SQLITE_OK);
}

}  // namespace
}  // namespace inlier
