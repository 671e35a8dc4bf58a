// Events of attempts, as their worker reports them.
#ifndef INLIER_COORDINATOR_PROTOCOL_EVENTS_H_
#define INLIER_COORDINATOR_PROTOCOL_EVENTS_H_

#include "coordinator/state/feature.h"

namespace inlier {

// Applies the new events of the sync, in order; none when an earlier one is missing.
void TakeEvents(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);

// Workers are asked for a model that the bucket has lost, for a time.
Feature LostModels();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROTOCOL_EVENTS_H_
