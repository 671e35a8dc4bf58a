// Users' SQL: a connection that can only read, by functions that are known to reach neither files nor memory.
//
// The guard decides what a statement may do. It stops a statement at its time limit only where SQLite asks
// for permission to continue, between the jumps of a program; the process of the statement bounds time and memory
// (queries/query_process.h).
//
// Thread safety: none; one thread at a time for each connection.
#ifndef INLIER_COORDINATOR_STORE_QUERY_GUARD_H_
#define INLIER_COORDINATOR_STORE_QUERY_GUARD_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/store/sqlite_handle.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// SQLite asks after so many of its instructions whether a statement may continue.
inline constexpr int kInstructionsBetweenChecks = 2000;

struct QueryLimits {
  std::uint64_t rows = 10000;
  std::uint64_t bytes = std::uint64_t{3} << 20;  // Of the answer, below gRPC's default message limit.
  std::uint64_t cell_bytes = std::uint64_t{1} << 20;
  Duration time = std::chrono::seconds(10);
};

class GuardedConnection {
 public:
  // `database` is an inlier.db that exists.
  static absl::StatusOr<std::unique_ptr<GuardedConnection>> Open(const std::filesystem::path& database);

  // Runs one SELECT, WITH … SELECT, EXPLAIN of them or PRAGMA that describes the schema, and sees the last
  // commit at its start. InvalidArgument for anything else, for functions that are not allowed, for two
  // statements, for a cell above its limit and for SQL errors (SQLite's words); DeadlineExceeded past the
  // time; ResourceExhausted when SQLite's heap limit is reached; `truncated` when rows or bytes ran out.
  absl::StatusOr<v1::QueryResponse> Query(const std::string& sql, const QueryLimits& limits = {});

 private:
  explicit GuardedConnection(SqliteHandle handle) : handle_(std::move(handle)) {}

  SqliteHandle handle_;
  std::int64_t schema_ = 0;       // See FollowViews.
  std::string refused_function_;  // The authorizer refused it in the statement that is being prepared.
};

// The functions that users may call, in lower case and in order.
const std::vector<std::string>& AllowedFunctions();

// Keeps a connection of this program from writing, from what a foreign schema could call, and from taking an
// unknown column for a text.
absl::Status GuardReading(sqlite3* connection);

// Makes the views of a guarded connection, at first and after each change of the schema, such as columns of a new
// program. They are this program's, not the file's: SQLite 3.40 does not let a stored view call ->> while the schema is
// not trusted. `schema`: 0 at first, then as the last call left it.
absl::Status FollowViews(sqlite3* connection, std::int64_t* schema);

absl::Status QueryTooSlow(Duration time);
absl::Status QueryTooLarge();

// Heap of SQLite in the process of a query; rows that are sorted, grouped or joined are there, not on the
// disk.
inline constexpr std::int64_t kQueryHeapBytes = std::int64_t{256} << 20;

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_QUERY_GUARD_H_
