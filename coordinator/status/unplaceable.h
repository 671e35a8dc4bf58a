// Sweeps whose trials wait although no connected worker can run them.
#ifndef INLIER_COORDINATOR_STATUS_UNPLACEABLE_H_
#define INLIER_COORDINATOR_STATUS_UNPLACEABLE_H_

#include <map>

#include "coordinator/state/context.h"

namespace inlier {

// Of the ACTIVE sweeps that are not paused, each with its first trial that waits so; zero: the sweep waits for its data. A
// worker that is drained or in quarantine can run nothing; one that is busy can.
std::map<SweepId, TrialId> UnplaceableSweeps(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_UNPLACEABLE_H_
