// The Prometheus series of the fleet; all are 0 where there is none.
//
// Thread safety: only on the coordinator's thread.
#ifndef INLIER_COORDINATOR_METRICS_FLEET_METRICS_H_
#define INLIER_COORDINATOR_METRICS_FLEET_METRICS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/state/fleet.h"
#include "rpc/metrics_registry.h"

namespace inlier {

// The families, in the order of the reference.
std::vector<MetricSpec> FleetMetricTable();

// By family.
std::vector<std::pair<std::string, GaugeSample>> FleetGauges(const Fleet& fleet);
std::vector<std::pair<std::string, std::uint64_t>> FleetCounters(const Fleet& fleet);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_METRICS_FLEET_METRICS_H_
