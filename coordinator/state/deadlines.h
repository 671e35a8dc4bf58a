// Times at which something is due, earliest first.
#ifndef INLIER_COORDINATOR_STATE_DEADLINES_H_
#define INLIER_COORDINATOR_STATE_DEADLINES_H_

#include <set>
#include <utility>

#include "base/time.h"
#include "coordinator/store/ids.h"

namespace inlier {

struct Deadlines {
  std::set<std::pair<Timestamp, Token>> by_progress;  // (progressed, token) of live attempts.
  std::set<std::pair<Timestamp, StageId>> retries;    // (not_before, stage).
  std::set<std::pair<Timestamp, Token>> yields;       // (yields_until, token).
  Timestamp preemption_checked;                       // Time of the last check for preemption.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_DEADLINES_H_
