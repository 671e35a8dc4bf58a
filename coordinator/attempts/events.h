// Events of attempts, as their worker reports them.
#ifndef INLIER_COORDINATOR_ATTEMPTS_EVENTS_H_
#define INLIER_COORDINATOR_ATTEMPTS_EVENTS_H_

#include "coordinator/state/context.h"

namespace inlier {

void TakeEvents(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_EVENTS_H_
