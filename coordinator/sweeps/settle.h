// Consequences for sweeps of the ends of their trials, at the end of every call.
#ifndef INLIER_COORDINATOR_SWEEPS_SETTLE_H_
#define INLIER_COORDINATOR_SWEEPS_SETTLE_H_

#include <cstdint>
#include <string>

#include "coordinator/state/feature.h"

namespace inlier {

// Makes no further trials, and cancels those that have not started.
void StopSweep(Context& context, Sweep& sweep, const std::string& why);

// Ends the sweep, if it is ACTIVE, in the state `to`, and cancels its open trials, those that run included. `kind`: of the
// notice. Returns how many trials it cancelled, with those that were not made.
std::uint64_t EndSweep(Context& context, Sweep& sweep, v1::SweepState to, const std::string& kind,
                       const std::string& why);

// Ends the sweeps of context.settle that are complete or have too many failures, and clears it.
void SettleSweeps(Context& context);

// Ends every call: settles the sweeps, then stores the changed states of trials.
void Finish(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_SETTLE_H_
