// A fleet of the tests.
#ifndef INLIER_TESTS_FLEET_FLEET_CONFIG_H_
#define INLIER_TESTS_FLEET_FLEET_CONFIG_H_

#include "inlier/v1/fleet.pb.h"

namespace inlier {

// Up to eight jobs of an hour, of two slots each.
inline v1::FleetConfig SmallFleet() {
  v1::FleetConfig config;
  config.set_maximum(8);
  config.set_slots(2);
  config.set_worker_config("/shared/worker.yaml");
  config.set_idle_seconds(60);
  config.mutable_slurm()->set_partition("gpu");
  config.mutable_slurm()->set_time_limit_minutes(60);
  return config;
}

}  // namespace inlier

#endif  // INLIER_TESTS_FLEET_FLEET_CONFIG_H_
