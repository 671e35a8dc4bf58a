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

// Sets the slots of an attempt that is charged to the sweep, rank 0's first.
void SetSlots(const State& state, SweepId sweep, const std::vector<std::uint32_t>& slots,
              v1::Assignment& assignment);

// Sets the model that the stage's next attempt needs, and the checkpoint and step from which it resumes, as far as there are.
void SetCheckpoints(const State& state, const Stage& stage, v1::Assignment& assignment);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_GRANT_H_
