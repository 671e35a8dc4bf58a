// Work that is due by time: ended leases, silent workers, stalled attempts, limits that are reached, due retries, further trials.
#ifndef INLIER_COORDINATOR_TICK_H_
#define INLIER_COORDINATOR_TICK_H_

#include <optional>

#include "base/time.h"
#include "coordinator/state/context.h"

namespace inlier {

// Does a bounded amount of work; when there is more, NextDeadline() is not later than the call's time.
void Tick(Context& context);

// After this process stood still, so that nobody could be heard: no lease, worker or attempt was silent meanwhile.
void RenewAllTerms(Context& context);

// The earliest time at which Tick has something to do.
std::optional<Timestamp> NextDeadline(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_TICK_H_
