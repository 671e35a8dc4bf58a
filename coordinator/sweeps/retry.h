// Retrying failed and cancelled trials.
#ifndef INLIER_COORDINATOR_SWEEPS_RETRY_H_
#define INLIER_COORDINATOR_SWEEPS_RETRY_H_

#include "coordinator/state/context.h"

namespace inlier {

absl::StatusOr<v1::RetryResponse> Retry(Context& context, const v1::RetryRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_RETRY_H_
