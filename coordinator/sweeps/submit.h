// A new sweep.
#ifndef INLIER_COORDINATOR_SWEEPS_SUBMIT_H_
#define INLIER_COORDINATOR_SWEEPS_SUBMIT_H_

#include <optional>

#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Stores a sweep and makes its first trials. `grid`: CheckedGrid(request.sweep()); without it the sweep must be
// known to be valid. The same request_id and content gives the same answer; AlreadyExists with other content;
// FailedPrecondition when the sweep has more trials than request.max_trials; PermissionDenied: CheckCallerLimits.
absl::StatusOr<v1::SubmitSweepResponse> SubmitSweep(Context& context, const v1::SubmitSweepRequest& request,
                                                    std::optional<SweepGrid> grid, const Caller& caller);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_SUBMIT_H_
