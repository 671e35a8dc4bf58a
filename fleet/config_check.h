// What a fleet's configuration may have.
#ifndef INLIER_FLEET_CONFIG_CHECK_H_
#define INLIER_FLEET_CONFIG_CHECK_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "inlier/v1/fleet.pb.h"

namespace inlier {

// InvalidArgument names the field and what it takes. Every text that becomes an argument of the engine's programs is one
// word of a few characters; options that the fleet sets itself are refused.
absl::Status CheckFleetConfig(const v1::FleetConfig& config);

// A job of the one is not as a job of the other: all counts but how many there are, and how they are watched.
bool JobsDiffer(const v1::FleetConfig& one, const v1::FleetConfig& other);

// For how long the worker of a job runs before it is asked to end.
std::uint32_t JobSeconds(const v1::FleetConfig& config);

// Letters, digits, and what names of partitions, accounts and resources have; not empty, and no option.
bool IsEngineWord(std::string_view text);

}  // namespace inlier

#endif  // INLIER_FLEET_CONFIG_CHECK_H_
