// What follows for sweeps from the ends of their trials, at the end of every call.
#ifndef INLIER_COORDINATOR_SWEEPS_SETTLE_H_
#define INLIER_COORDINATOR_SWEEPS_SETTLE_H_

#include "coordinator/state/context.h"

namespace inlier {

void SettleSweeps(Context& context);

// Ends every call: what follows for the sweeps, then the states of trials that are to be stored.
void Finish(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_SETTLE_H_
