// Changes of attempts as time passes: leases end, workers fall silent, attempts stall or do not stop in time, retries begin.
#ifndef INLIER_COORDINATOR_ATTEMPTS_TIMERS_H_
#define INLIER_COORDINATOR_ATTEMPTS_TIMERS_H_

#include "coordinator/state/feature.h"

namespace inlier {

Feature LeaseEnds();
Feature SilentWorkers();
Feature Stalls();
Feature Yields();
Feature Retries();

// After this process was stopped and could hear no worker: no lease, worker or attempt was silent meanwhile.
void RenewAllTerms(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_TIMERS_H_
