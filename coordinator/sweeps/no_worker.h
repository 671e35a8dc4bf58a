// Notifications of sweeps whose trials wait although no connected worker can run them.
//
// The condition is looked at every few seconds, for ACTIVE sweeps. It is notified once when it has lasted for
// no_worker_seconds, and again only after it has ended. That it lasts is stored with the notification, so that a restart does
// not repeat it.
#ifndef INLIER_COORDINATOR_SWEEPS_NO_WORKER_H_
#define INLIER_COORDINATOR_SWEEPS_NO_WORKER_H_

#include <optional>

#include "coordinator/state/context.h"

namespace inlier {

void CheckNoWorker(Context& context);

std::optional<Timestamp> NoWorkerCheckDue(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_NO_WORKER_H_
