// Sweeps whose points a sampler asks for, one after another, by the results of those before (sampling.optuna).
//
// The coordinator knows nothing of samplers: one is a client (clients/python/inlier/optimize.py), which reads the search and
// extends the sweep. A point is a row of the sweep (search_point) before any of its trials is, and a sweep stays ACTIVE until
// as many were asked for as it wants. Grid, expansion and edits are those of other sampled sweeps (SweepGrid::Append).
#ifndef INLIER_COORDINATOR_SEARCH_SEARCH_H_
#define INLIER_COORDINATOR_SEARCH_SEARCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "coordinator/state/feature.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// All of the points or none. FailedPrecondition where the sweep is no search, has ended, or another sampler was faster;
// InvalidArgument for points that the sweep cannot have.
absl::StatusOr<v1::ExtendSweepResponse> ExtendSweep(Context& context, const v1::ExtendSweepRequest& request,
                                                    const Caller& caller);

// FailedPrecondition where the sweep is no search.
absl::StatusOr<v1::Search> GetSearch(const State& state, const v1::GetSearchRequest& request,
                                     const std::string& caller);

// How many points were asked for, and who asks for more.
Feature SearchedSweeps();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SEARCH_SEARCH_H_
