// Draining a worker: it gets nothing new.
#ifndef INLIER_COORDINATOR_ATTEMPTS_DRAIN_H_
#define INLIER_COORDINATOR_ATTEMPTS_DRAIN_H_

#include "coordinator/state/context.h"

namespace inlier {

absl::StatusOr<v1::DrainWorkerResponse> DrainWorker(Context& context, const v1::DrainWorkerRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_DRAIN_H_
