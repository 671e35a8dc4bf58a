// What fits where. A stage asks for the resources of its sweep, or for more after an attempt of it ran out of memory
// (attempts/retry_policy.h); it is leased only to a slot whose machine and GPU have that much left.
#ifndef INLIER_COORDINATOR_SCHEDULING_PLACEMENT_H_
#define INLIER_COORDINATOR_SCHEDULING_PLACEMENT_H_

#include "coordinator/state/context.h"

namespace inlier {

ResourceRequest RequestFor(const State& state, const Sweep& sweep, const Stage& stage);

Scheduler::Shape ShapeOf(const State& state, const Sweep& sweep, const Stage& stage);

// A free slot of the worker on which it fits.
std::optional<std::uint32_t> SlotFor(const State& state, const WorkerEntry& worker,
                                     const ResourceRequest& request);

// The best stage for the slot, if any may start and fits.
std::optional<Scheduler::Pick> PickFor(const State& state, const WorkerEntry& worker, std::uint32_t slot);

bool IsFree(const State& state, const WorkerEntry& worker, std::uint32_t slot);

std::optional<std::uint32_t> FreeSlot(const State& state, const WorkerEntry& worker);

// Why no registered worker could ever run it; empty: one could, or none is registered.
std::string WhyNowhere(const State& state, const ResourceRequest& request);

// The one that has waited longest of those with such a slot; nullptr: none has.
WorkerEntry* WaitingFor(State& state, const ResourceRequest& request);

// What the attempt took is free again, unless its process still lives as far as the worker says.
void ReleaseResources(State& state, const Attempt& attempt, WorkerEntry& worker);

// Attempts that have ended here and that the worker does not report any more hold nothing.
void ReleaseGone(State& state, WorkerEntry& worker, const v1::WorkerSync* sync);

// Whether the worker waits for work may have changed.
void RefreshOffer(State& state, WorkerEntry& worker);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_PLACEMENT_H_
