// The JSON of a SweepSpec that the store keeps: proto JSON with the names of the .proto files.
//
// Thread safety: pure functions.
#ifndef INLIER_COORDINATOR_STORE_SWEEP_JSON_H_
#define INLIER_COORDINATOR_STORE_SWEEP_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// Internal where JSON cannot express it: a value that is not finite, or nested too deep. CheckLimits
// (request_limits.h) refuses such a sweep.
absl::StatusOr<std::string> SweepSpecToJson(const v1::SweepSpec& spec);

// The inverse. Unknown fields are ignored; DataLoss for anything else.
absl::StatusOr<v1::SweepSpec> SweepSpecFromJson(const std::string& json);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SWEEP_JSON_H_
