// Stores what a user measured on a model of their own (`inlier analyze`).
#ifndef INLIER_COORDINATOR_SWEEPS_STORE_ANALYSIS_H_
#define INLIER_COORDINATOR_SWEEPS_STORE_ANALYSIS_H_

#include "absl/status/statusor.h"
#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// InvalidArgument for a request without a model or numbers, or with a number twice.
absl::StatusOr<v1::StoreAnalysisResponse> StoreAnalysis(Context& context,
                                                        const v1::StoreAnalysisRequest& request,
                                                        const Caller& caller);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_STORE_ANALYSIS_H_
