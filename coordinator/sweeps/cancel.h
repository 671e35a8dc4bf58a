// Cancelling sweeps and trials.
#ifndef INLIER_COORDINATOR_SWEEPS_CANCEL_H_
#define INLIER_COORDINATOR_SWEEPS_CANCEL_H_

#include "coordinator/state/context.h"

namespace inlier {

void CancelTrial(Context& context, Trial& trial, const std::string& why);

absl::StatusOr<v1::CancelResponse> Cancel(Context& context, const v1::CancelRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_CANCEL_H_
