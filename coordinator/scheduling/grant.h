// The one path by which a lease is granted.
#ifndef INLIER_COORDINATOR_SCHEDULING_GRANT_H_
#define INLIER_COORDINATOR_SCHEDULING_GRANT_H_

#include <cstdint>
#include <vector>

#include "coordinator/state/context.h"

namespace inlier {

// Leases the picked stage to the worker as a new attempt. REQUIRES: it fits there now.
void Grant(Context& context, WorkerEntry& worker, ReadyQueue::Pick pick);

// Grants the best stages that fit to the worker's free slots.
void FillSlots(Context& context, WorkerEntry& worker);

// Sets the attempt's assignment, with the model that it needs and the checkpoints from which it may resume, but without the
// specification: the stage keeps that. `slots`: rank 0's first. `number`: counts the attempts of the stage.
void SetAssignment(const State& state, const Stage& stage, const std::vector<std::uint32_t>& slots,
                   std::uint32_t number, Attempt& attempt);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_GRANT_H_
