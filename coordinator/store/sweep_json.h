// The JSON of a SweepSpec that the store keeps: proto JSON with the names of the .proto files.
#ifndef INLIER_COORDINATOR_STORE_SWEEP_JSON_H_
#define INLIER_COORDINATOR_STORE_SWEEP_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// REQUIRES: CheckLimits (request_limits.h) accepts `spec`: its numbers are finite, as JSON needs. Internal
// for values that are nested too deep.
absl::StatusOr<std::string> SweepSpecToJson(const v1::SweepSpec& spec);

// The inverse. Unknown fields are ignored; DataLoss for anything else.
absl::StatusOr<v1::SweepSpec> SweepSpecFromJson(const std::string& json);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SWEEP_JSON_H_
