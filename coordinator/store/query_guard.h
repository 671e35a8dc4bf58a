// Keeps a read-only connection read-only, and one statement from using the whole machine.
//
// Thread safety: none; one guard a connection.
#ifndef INLIER_COORDINATOR_STORE_QUERY_GUARD_H_
#define INLIER_COORDINATOR_STORE_QUERY_GUARD_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/store/reader.h"

struct sqlite3;
struct sqlite3_stmt;

namespace inlier {

struct StatementFinalizer {
  void operator()(sqlite3_stmt* statement) const;
};
using StatementPtr = std::unique_ptr<sqlite3_stmt, StatementFinalizer>;

// Only SELECT, WITH … SELECT, EXPLAIN of them and PRAGMAs that describe the schema pass from now on; and
// nothing is attached, written or loaded.
void GuardConnection(sqlite3* connection);

// Prepares the one statement of `sql`. InvalidArgument, for people: nothing there, two statements, one that
// writes, parameters, or SQLite's words.
absl::StatusOr<StatementPtr> PrepareGuarded(sqlite3* connection, const std::string& sql);

// While it lives, statements of the connection are interrupted once `deadline` has passed.
class TimeLimit {
 public:
  TimeLimit(sqlite3* connection, Timestamp deadline);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  sqlite3* connection_;
  Timestamp deadline_;
};

// Steps `statement` through and collects its rows within `limits` (time is TimeLimit's).
absl::StatusOr<v1::QueryResponse> CollectRows(sqlite3* connection, sqlite3_stmt* statement,
                                              const QueryLimits& limits);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_QUERY_GUARD_H_
