// Requests of people about the fleet.
#ifndef INLIER_COORDINATOR_FLEET_REQUESTS_H_
#define INLIER_COORDINATOR_FLEET_REQUESTS_H_

#include "absl/status/statusor.h"
#include "coordinator/state/context.h"
#include "inlier/v1/fleet.pb.h"

namespace inlier {

// Makes the fleet or replaces it; a scale and a stop of before end. FailedPrecondition: the coordinator's configuration has
// one. InvalidArgument: CheckFleetConfig, or a field that decides what the coordinator runs itself.
absl::StatusOr<v1::SetFleetResponse> SetFleet(Context& context, const v1::SetFleetRequest& request);

// NotFound: there is no fleet. The same for the next.
absl::StatusOr<v1::ScaleFleetResponse> ScaleFleet(Context& context, const v1::ScaleFleetRequest& request);
absl::StatusOr<v1::StopFleetResponse> StopFleet(Context& context, const v1::StopFleetRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_FLEET_REQUESTS_H_
