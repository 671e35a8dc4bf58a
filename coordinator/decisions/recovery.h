// The state rebuilt from the store at a start.
#ifndef INLIER_COORDINATOR_DECISIONS_RECOVERY_H_
#define INLIER_COORDINATOR_DECISIONS_RECOVERY_H_

#include "absl/status/status.h"
#include "coordinator/state/context.h"
#include "coordinator/store/snapshot.h"

namespace inlier {

// Fills an empty state from the store. Live attempts get leases with a full term, to be claimed by
// their workers. DataLoss when the database cannot be right.
absl::Status Recover(Context& context, Snapshot snapshot);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_DECISIONS_RECOVERY_H_
