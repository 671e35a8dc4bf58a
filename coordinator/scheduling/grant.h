// The one path by which a lease is granted.
#ifndef INLIER_COORDINATOR_SCHEDULING_GRANT_H_
#define INLIER_COORDINATOR_SCHEDULING_GRANT_H_

#include "coordinator/state/context.h"

namespace inlier {

// Leases the picked stage to the slot as a new attempt. REQUIRES: PickFor returns `pick` for the slot.
void Grant(Context& context, WorkerEntry& worker, std::uint32_t slot, Scheduler::Pick pick);

// Grants the best stage that fits to each free slot of the worker.
void FillSlots(Context& context, WorkerEntry& worker);

// Sets the model that the stage's next attempt needs, and the checkpoint and step from which it resumes, as far as there are.
void SetCheckpoints(const State& state, const Stage& stage, v1::Assignment& assignment);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_GRANT_H_
