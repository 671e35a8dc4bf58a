// Which stages are in the scheduler's queues.
#ifndef INLIER_COORDINATOR_SCHEDULING_READINESS_H_
#define INLIER_COORDINATOR_SCHEDULING_READINESS_H_

#include "coordinator/state/context.h"

namespace inlier {

void RefreshReadiness(Context& context, Stage& stage);

// The request of the sweep has changed.
void ReshapeStages(Context& context, Sweep& sweep);

void EndHolderWaits(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_READINESS_H_
