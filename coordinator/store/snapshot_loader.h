// Reads a Snapshot. Errors of SQLite are SQLite::Exception; a row that this program cannot have written is
// DataLoss.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_LOADER_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_LOADER_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/snapshot.h"

namespace SQLite {
class Database;
}

namespace inlier {

// With a second connection to the same state it reads on two threads at once.
absl::StatusOr<Snapshot> LoadSnapshot(SQLite::Database& database, SQLite::Database* second);

// The inverse of MessageJson. Fields that this program does not know are ignored.
absl::StatusOr<v1::SweepSpec> SweepSpecFromJson(const std::string& json);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SNAPSHOT_LOADER_H_
