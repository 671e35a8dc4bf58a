// Consequences for sweeps of the ends of their trials, at the end of every call.
#ifndef INLIER_COORDINATOR_SWEEPS_SETTLE_H_
#define INLIER_COORDINATOR_SWEEPS_SETTLE_H_

#include <string>

#include "coordinator/state/context.h"

namespace inlier {

// Makes no further trials, and cancels those that have not started.
void StopSweep(Context& context, Sweep& sweep, const std::string& why);

// Ends the sweeps of context.settle that are complete or have too many failures, and clears it.
void SettleSweeps(Context& context);

// Ends every call: settles the sweeps, then stores the changed states of trials.
void Finish(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_SETTLE_H_
