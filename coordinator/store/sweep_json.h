// The JSON of a SweepSpec that the store keeps: proto JSON with the names of the .proto files.
#ifndef INLIER_COORDINATOR_STORE_SWEEP_JSON_H_
#define INLIER_COORDINATOR_STORE_SWEEP_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// REQUIRES: CheckLimits (request_limits.h) accepts `spec`: its numbers are finite, as JSON needs. Internal
// for values that are nested too deep.
absl::StatusOr<std::string> SweepSpecToJson(const v1::SweepSpec& spec);

// The inverse. Unknown fields are ignored; DataLoss for anything else.
absl::StatusOr<v1::SweepSpec> SweepSpecFromJson(const std::string& json);

// The parts of a point that a sampler asked for: {"learning_rate": 0.001} and [0, 1]. REQUIRES: its numbers are finite.
std::string ValuesJson(const v1::SearchPoint& point);
std::string ToldJson(const v1::SearchPoint& point);
// The inverse; DataLoss for anything else.
absl::StatusOr<v1::SearchPoint> SearchPointFromJson(const std::string& values, const std::string& told);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SWEEP_JSON_H_
