// A coordinator with a fleet, for the tests.
#ifndef INLIER_TESTS_COORDINATOR_FLEET_FLEET_OPTIONS_H_
#define INLIER_TESTS_COORDINATOR_FLEET_FLEET_OPTIONS_H_

#include "tests/coordinator/harness.h"

namespace inlier {

inline OrchestratorOptions WithFleet(const v1::FleetConfig& config) {
  OrchestratorOptions options = Harness::DefaultOptions();
  options.fleet = config;
  options.new_fleet_id = "3fa9c1d2";
  return options;
}

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_FLEET_FLEET_OPTIONS_H_
