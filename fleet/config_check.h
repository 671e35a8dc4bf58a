// Checks a fleet's configuration.
#ifndef INLIER_FLEET_CONFIG_CHECK_H_
#define INLIER_FLEET_CONFIG_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "inlier/v1/fleet.pb.h"

namespace inlier {

// InvalidArgument names the field and what it takes. Every text that becomes an argument of the engine's programs is one
// word of a few characters; options that the fleet sets itself are refused.
absl::Status CheckFleetConfig(const v1::FleetConfig& config);

// A job of the one differs from a job of the other; how many jobs there are, and how they are watched, does not count.
bool JobsDiffer(const v1::FleetConfig& one, const v1::FleetConfig& other);

std::uint32_t JobSeconds(const v1::FleetConfig& config);

}  // namespace inlier

#endif  // INLIER_FLEET_CONFIG_CHECK_H_
