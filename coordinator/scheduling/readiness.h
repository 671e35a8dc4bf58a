// Which stages are in the ready queue, and which of them wait for a worker.
//
// A stage that needs a checkpoint waits a little for the worker that wrote it, where workers keep their artifacts
// apart: an evaluation for the worker that trained, a resumed training for the worker it ran on. When the wait is
// over, or that worker takes no work, the stage goes to any free worker. Waits are not stored.
#ifndef INLIER_COORDINATOR_SCHEDULING_READINESS_H_
#define INLIER_COORDINATOR_SCHEDULING_READINESS_H_

#include "coordinator/state/feature.h"

namespace inlier {

// Adds the stage to the queues of the sweeps that need it, or removes it, as its state now is.
void RefreshReadiness(Context& context, Stage& stage);

// Refreshes the open stages of a sweep whose resource request has changed.
void ReshapeStages(Context& context, Sweep& sweep);

// Ends the waits that are over.
Feature HolderWaitEnds();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_READINESS_H_
