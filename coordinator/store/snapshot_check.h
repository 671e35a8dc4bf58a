// Checks that a snapshot is consistent: the assumptions of Orchestrator::Recover.
#ifndef INLIER_COORDINATOR_STORE_SNAPSHOT_CHECK_H_
#define INLIER_COORDINATOR_STORE_SNAPSHOT_CHECK_H_

#include "absl/status/status.h"
#include "coordinator/store/snapshot.h"

namespace inlier {

// The schema keeps all of this in a sound file, so DataLoss, with the first row that is wrong and the remedy,
// means that the file was damaged or edited.
absl::Status CheckSnapshot(const Snapshot& snapshot);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SNAPSHOT_CHECK_H_
