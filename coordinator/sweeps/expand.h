// Points of a sweep's grid become trials, a bounded number at a time.
#ifndef INLIER_COORDINATOR_SWEEPS_EXPAND_H_
#define INLIER_COORDINATOR_SWEEPS_EXPAND_H_

#include "coordinator/state/context.h"

namespace inlier {

absl::Status MakeExpander(State& state, Sweep& sweep);

bool WantsTrials(const State& state, const Sweep& sweep);

// Makes up to `limit` further trials; returns how many were complete at once.
std::uint64_t Expand(Context& context, Sweep& sweep, std::uint64_t limit);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_EXPAND_H_
