// Work that a call leaves to its caller, in addition to its reply.
#ifndef INLIER_COORDINATOR_STATE_EFFECTS_H_
#define INLIER_COORDINATOR_STATE_EFFECTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/store/changes.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

struct Effects {
  ChangeBatch changes;                         // To be committed before the reply leaves.
  std::set<std::string> workers;               // Incarnations whose next replies refer to these changes.
  std::vector<std::string> log;                // One line each, at INFO.
  std::vector<double> lease_wait_seconds;      // For each lease granted: from ready to leased.
  std::vector<double> train_steps_per_second;  // For each train attempt that reported a result.
  std::set<std::string> stopped;               // Incarnations with an attempt to stop, not sent yet.
  std::map<std::string, v1::CoordinatorSync>
      pushes;  // By incarnation: to be sent once `changes` is committed.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_EFFECTS_H_
