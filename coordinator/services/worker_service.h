// The gRPC service for workers: Session (a stream of syncs) and Sync (a unary call), both answered by the
// same handler.
//
// A session takes one sync at a time: the next is read when the answer to the last has been written, so that
// a worker never makes the coordinator hold more than one of its messages. A session without a sync for long
// ends.
#ifndef INLIER_COORDINATOR_SERVICES_WORKER_SERVICE_H_
#define INLIER_COORDINATOR_SERVICES_WORKER_SERVICE_H_

#include "coordinator/services/calls.h"
#include "coordinator/services/door.h"

namespace inlier {

// `calls` outlives `door`.
void AddWorkerService(Door& door, Calls& calls);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_WORKER_SERVICE_H_
