// A stage that needs a checkpoint waits a little for the worker that wrote it, where workers keep their artifacts
// apart: an evaluation for the worker that trained, a resumed training for the worker it ran on. When the wait is
// over, or that worker takes no work, the stage goes to any free worker. Waits are not stored.
#ifndef INLIER_COORDINATOR_SCHEDULING_LOCALITY_H_
#define INLIER_COORDINATOR_SCHEDULING_LOCALITY_H_

#include "coordinator/state/context.h"

namespace inlier {

// It has become ready.
void WaitForHolder(Context& context, const Stage& stage);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_LOCALITY_H_
