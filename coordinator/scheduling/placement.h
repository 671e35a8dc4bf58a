// Placement of stages on slots. A stage requests the resources of its sweep, or more after an attempt ran
// out of memory (attempts/retry_policy.h); it is leased only to a slot with enough of them left.
#ifndef INLIER_COORDINATOR_SCHEDULING_PLACEMENT_H_
#define INLIER_COORDINATOR_SCHEDULING_PLACEMENT_H_

#include "coordinator/state/context.h"

namespace inlier {

// The sweep's request, or a larger one after the stage ran out of memory.
ResourceRequest RequestFor(const State& state, const Sweep& sweep, const Stage& stage);

// The request, and the worker for which the stage waits.
ReadyShape ShapeOf(const State& state, const Sweep& sweep, const Stage& stage);

// Free slots of the worker on which the request fits, one for each process; empty where it does not fit now.
std::vector<std::uint32_t> SlotsFor(const State& state, const WorkerEntry& worker,
                                    const ResourceRequest& request);

// "cpu", "cuda:0"; "" for a slot that the worker does not have.
std::string DeviceOf(const WorkerEntry& worker, std::uint32_t slot);

// The slot's device is in quarantine (quarantine/quarantine.h), and this is not the time of a probe.
bool IsBlocked(const WorkerEntry& worker, std::uint32_t slot);

// No lease is on the slot, the worker reports no attempt there, and it is not blocked.
bool IsFree(const State& state, const WorkerEntry& worker, std::uint32_t slot);

std::optional<std::uint32_t> FreeSlot(const State& state, const WorkerEntry& worker);

// Counts the slots that the worker's leases are for; a gang's is for several.
std::uint32_t SlotsLeased(const State& state, const WorkerEntry& worker);

// Why no registered worker could ever run the request; empty: one could, or none is registered.
std::string WhyNowhere(const State& state, const ResourceRequest& request);

// The part of WhyNowhere about data: every connected worker has other data, named with their digests.
std::string WhyNoData(const State& state, const ResourceRequest& request);

// The worker has found these data.
void SetWorkerData(State& state, WorkerEntry& worker, DataId version);

// The idle worker that has waited longest of those with a slot for the request; nullptr: none has one.
WorkerEntry* WaitingFor(State& state, const ResourceRequest& request);

// Frees the attempt's resources, unless the worker still reports its process.
void ReleaseResources(State& state, const Attempt& attempt, WorkerEntry& worker);

// Frees the resources of ended attempts that the worker no longer reports.
void ReleaseGone(State& state, WorkerEntry& worker, const v1::WorkerSync* sync);

// A slot of the worker may take attempts again.
void SlotFreed(State& state, WorkerEntry& worker);

// Adds the worker to the idle workers or removes it, as its state now is.
void RefreshOffer(State& state, WorkerEntry& worker);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_PLACEMENT_H_
