// The fleet's status for users and Prometheus.
#ifndef INLIER_FLEET_STATUS_H_
#define INLIER_FLEET_STATUS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fleet/state.h"
#include "inlier/v1/fleet.pb.h"
#include "rpc/metrics_registry.h"

namespace inlier {

// The reasons why the fleet does not run waiting work, a sentence each, the most important first; none where there is no fleet.
std::vector<std::string> FleetReasons(const Fleet& fleet, Timestamp now);

v1::FleetStatus StatusOfFleet(const Fleet& fleet, const ClusterView& view, Timestamp now);

// The Prometheus families, in the order of the reference, and their values; all are 0 where there is no fleet.
std::vector<MetricSpec> FleetMetricTable();

std::vector<std::pair<std::string, GaugeSample>> FleetGauges(const Fleet& fleet);
std::vector<std::pair<std::string, std::uint64_t>> FleetCounters(const Fleet& fleet);

}  // namespace inlier

#endif  // INLIER_FLEET_STATUS_H_
