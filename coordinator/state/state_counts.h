// How many stages, trials and sweeps are in each state.
#ifndef INLIER_COORDINATOR_STATE_STATE_COUNTS_H_
#define INLIER_COORDINATOR_STATE_STATE_COUNTS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

struct StateCounts {
  std::map<std::pair<v1::StageKind, v1::TrialState>, std::int64_t> stages;
  std::map<v1::TrialState, std::int64_t> trials;
  std::map<v1::SweepState, std::int64_t> sweeps;
  std::int64_t paused_sweeps = 0;  // ACTIVE ones.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_STATE_COUNTS_H_
