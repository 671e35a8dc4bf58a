// SQLite's connections as owned values. For this folder.
#ifndef INLIER_COORDINATOR_STORE_SQLITE_HANDLE_H_
#define INLIER_COORDINATOR_STORE_SQLITE_HANDLE_H_

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

inline constexpr int kBusyTimeoutMs = 5000;  // Readers may hold a lock while they recover the WAL index.

struct SqliteCloser {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
using SqliteHandle = std::unique_ptr<sqlite3, SqliteCloser>;

struct StatementFinalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementPtr = std::unique_ptr<sqlite3_stmt, StatementFinalizer>;

// Opens a connection that can only read. `immutable`: no process writes the file meanwhile; -wal and -shm are
// ignored.
absl::StatusOr<SqliteHandle> OpenForReading(const std::filesystem::path& file, bool immutable = false);

// Opens an existing file for writing, too.
absl::StatusOr<SqliteHandle> OpenForWriting(const std::filesystem::path& file);

// Runs `sql`; returns every row, each value as text (NULL is "").
absl::StatusOr<std::vector<std::vector<std::string>>> QueryTexts(sqlite3* connection, const std::string& sql);

// The first value of the first row as a number; 0 when there is none.
absl::StatusOr<std::int64_t> QueryInteger(sqlite3* connection, const std::string& sql);

// True for a database of inlier from before its first release: its tables differ, at any version.
absl::StatusOr<bool> IsFromBeforeRelease(sqlite3* connection);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SQLITE_HANDLE_H_
