// Reads a Snapshot. Errors of SQLite are SQLite::Exception; a row that this program cannot have written is
// DataLoss.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_LOADER_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_LOADER_H_

#include "absl/status/statusor.h"
#include "coordinator/store/snapshot.h"

namespace SQLite {
class Database;
}

namespace inlier {

absl::StatusOr<Snapshot> LoadSnapshot(SQLite::Database& database);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SNAPSHOT_LOADER_H_
