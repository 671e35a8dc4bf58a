// Pausing a sweep: nothing new of it starts.
#ifndef INLIER_COORDINATOR_SWEEPS_PAUSE_H_
#define INLIER_COORDINATOR_SWEEPS_PAUSE_H_

#include "coordinator/state/context.h"

namespace inlier {

absl::StatusOr<v1::PauseSweepResponse> PauseSweep(Context& context, const v1::PauseSweepRequest& request);

absl::StatusOr<v1::ResumeSweepResponse> ResumeSweep(Context& context, const v1::ResumeSweepRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_PAUSE_H_
