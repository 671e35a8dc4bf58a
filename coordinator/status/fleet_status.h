// Status of the fleet, for people.
#ifndef INLIER_COORDINATOR_STATUS_FLEET_STATUS_H_
#define INLIER_COORDINATOR_STATUS_FLEET_STATUS_H_

#include <string>
#include <vector>

#include "coordinator/state/state.h"
#include "inlier/v1/fleet.pb.h"

namespace inlier {

// What keeps the fleet from running what waits, a sentence each, the most important first; none where there is no fleet.
std::vector<std::string> FleetReasons(const State& state, Timestamp now);

v1::FleetStatus StatusOfFleet(const State& state, Timestamp now);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_FLEET_STATUS_H_
