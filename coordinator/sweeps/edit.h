// A sweep is edited while it runs. Trials of points that are in both versions stay, with their results; trials of
// points that were removed are withdrawn; new points become trials as they come near dispatch.
#ifndef INLIER_COORDINATOR_SWEEPS_EDIT_H_
#define INLIER_COORDINATOR_SWEEPS_EDIT_H_

#include <optional>

#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "spec/sweep/sweep_edit.h"

namespace inlier {

// `grid`: the checked grid of the new sweep, if it is made already. PermissionDenied: CheckCallerLimits. The owner stays.
absl::StatusOr<v1::EditSweepResponse> EditSweep(Context& context, const v1::EditSweepRequest& request,
                                                std::optional<SweepGrid> grid, const Caller& caller);
inline absl::StatusOr<v1::EditSweepResponse> EditSweep(Context& context, const v1::EditSweepRequest& request,
                                                       const Caller& caller) {
  return EditSweep(context, request, std::nullopt, caller);
}

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_EDIT_H_
