// The one path by which a lease is granted.
#ifndef INLIER_COORDINATOR_SCHEDULING_GRANT_H_
#define INLIER_COORDINATOR_SCHEDULING_GRANT_H_

#include "coordinator/state/context.h"

namespace inlier {

void Grant(Context& context, WorkerEntry& worker, std::uint32_t slot, Scheduler::Pick pick);

void FillSlots(Context& context, WorkerEntry& worker);

// From where the next attempt goes on.
void SetResume(const Stage& stage, v1::Assignment& assignment);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_GRANT_H_
