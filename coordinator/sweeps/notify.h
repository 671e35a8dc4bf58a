// Notifications of sweeps that have ended and of trials that are FAILED.
//
// The first failure of a sweep is notified at once. Those of the next minute are gathered in one notification, which is
// stored with each and sent at the end of the minute; while trials keep failing the time doubles, to an hour at most. The
// end of the sweep sends those that are gathered before its own notification.
#ifndef INLIER_COORDINATOR_SWEEPS_NOTIFY_H_
#define INLIER_COORDINATOR_SWEEPS_NOTIFY_H_

#include <optional>

#include "coordinator/state/context.h"

namespace inlier {

// Stores the notifications of context.noted, and clears it.
void NotifyNoted(Context& context);

// Sends gathered failures whose time is over.
void SendGatheredFailures(Context& context);

std::optional<Timestamp> GatheredFailuresDue(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_NOTIFY_H_
