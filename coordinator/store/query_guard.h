// Keeps a read-only connection read-only, and one statement from using the whole machine.
//
// Thread safety: none; one thread at a time for each connection.
#ifndef INLIER_COORDINATOR_STORE_QUERY_GUARD_H_
#define INLIER_COORDINATOR_STORE_QUERY_GUARD_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/reader.h"

struct sqlite3;

namespace inlier {

// Only SELECT, WITH … SELECT, EXPLAIN of them and PRAGMAs that describe the schema pass from now on; and
// nothing is attached, written or loaded.
void GuardConnection(sqlite3* connection);

// Runs the one statement of `sql` and collects its rows within `limits`. Errors are as in Reader::Query.
absl::StatusOr<v1::QueryResponse> RunGuarded(sqlite3* connection, const std::string& sql,
                                             const QueryLimits& limits);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_QUERY_GUARD_H_
