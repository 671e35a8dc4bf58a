// Ready stages that wait for the worker that has their checkpoint.
#ifndef INLIER_COORDINATOR_STATE_HOLDER_WAITS_H_
#define INLIER_COORDINATOR_STATE_HOLDER_WAITS_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/time.h"
#include "coordinator/store/ids.h"

namespace inlier {

struct HolderWaits {
  std::map<StageId, std::pair<std::uint32_t, Timestamp>> by_stage;  // Stage -> number of the worker, until.
  std::set<std::pair<Timestamp, StageId>> due;                      // The same, by time.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_HOLDER_WAITS_H_
