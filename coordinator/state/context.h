// One call: the state it changes, its time, and its effects.
#ifndef INLIER_COORDINATOR_STATE_CONTEXT_H_
#define INLIER_COORDINATOR_STATE_CONTEXT_H_

#include <map>
#include <set>

#include "coordinator/state/effects.h"
#include "coordinator/state/moment.h"
#include "coordinator/state/state.h"

namespace inlier {

struct Context {
  State& state;
  Moment now;
  Effects& out;
  std::set<SweepId> settle =
      {};  // Sweeps with trials that have ended; checked when the call ends (sweeps/settle.h).
  // Trials whose state has changed, with the state they had: the difference is stored when the call ends, so
  // that a trial that passes through several states costs one row.
  std::map<TrialId, v1::TrialState> changed = {};
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_CONTEXT_H_
