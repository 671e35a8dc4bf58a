// Preemption. While a stage of a sweep that preempts is ready and no free slot takes it, an attempt of lower priority
// is asked to write a checkpoint and stop, as for a pause; its stage waits again and no failure is counted.
//
// Victim: of the attempts of the lowest priority, the one with the latest checkpoint that alone frees enough,
// so that the least work is lost. An attempt counts with the highest priority of all sweeps that need its stage. No
// more attempts are asked than stages wait. The coordinator checks every kPreemptionPeriod.
#ifndef INLIER_COORDINATOR_SCHEDULING_PREEMPTION_H_
#define INLIER_COORDINATOR_SCHEDULING_PREEMPTION_H_

#include "coordinator/state/feature.h"

namespace inlier {

Feature Preemption();

// Asks the attempt to write a checkpoint and stop: it stays live, keeps its slot, and ends by itself or at
// yields_until. `timed_out`: then it has TIMED_OUT. False: it is yielding already.
bool Yield(Context& context, Attempt& attempt, const std::string& why, bool timed_out = false);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_PREEMPTION_H_
