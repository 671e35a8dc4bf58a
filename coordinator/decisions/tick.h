// Work that is due by time, of all features (state/feature.h).
#ifndef INLIER_COORDINATOR_DECISIONS_TICK_H_
#define INLIER_COORDINATOR_DECISIONS_TICK_H_

#include <optional>

#include "base/time.h"
#include "coordinator/state/context.h"

namespace inlier {

// Does a bounded amount of work; when there is more, NextDeadline() is not later than the call's time.
void Tick(Context& context);

// The earliest time at which Tick has something to do.
std::optional<Timestamp> NextDeadline(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_DECISIONS_TICK_H_
