// How many jobs the fleet should have, and what to do about it.
//
// A job counts once its submission is stored, so one whose fate is not known is never asked for again. Given back are jobs
// that are of no use, and where there are too many first those that wait in the engine's queue, then those whose workers are
// idle, the longest idle first; a worker with an attempt is never given back here.
#ifndef INLIER_FLEET_PLAN_H_
#define INLIER_FLEET_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/state.h"

namespace inlier {

struct FleetPlan {
  std::uint32_t submit = 0;              // Jobs to ask for now, with one submission.
  std::vector<std::string> give_back{};  // Jobs to end.
};

// Also notes what is wanted, what waits, and since when there are too many jobs and workers have been idle.
FleetPlan PlanFleet(FleetContext& context);

}  // namespace inlier

#endif  // INLIER_FLEET_PLAN_H_
