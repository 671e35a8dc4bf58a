// Status of sweeps and workers, as users see it.
#ifndef INLIER_COORDINATOR_STATUS_STATUS_H_
#define INLIER_COORDINATOR_STATUS_STATUS_H_

#include <map>

#include "coordinator/state/context.h"

namespace inlier {

// The sweep has ended and none of its attempts runs.
bool IsOver(const State& state, SweepId id);

// Points without a trial yet are PENDING ones of an ACTIVE sweep, else CANCELLED. Without `pruned`.
v1::TrialCounts TrialsByState(const Sweep& sweep);

v1::SweepStatus StatusOf(const State& state, SweepId id, Timestamp now, bool with_spec);

// The present state, with the notices after number `sequence` that are still in memory, and the number of the last one.
v1::SweepUpdate DescribeSweep(const State& state, SweepId id, Moment now, std::uint64_t sequence);

// One page of sweeps, the newest first.
absl::StatusOr<v1::ListSweepsResponse> ListSweeps(const State& state, const v1::ListSweepsRequest& request,
                                                  Timestamp now);

// A page of workers by incarnation: at most request.page_size, and not more than fit into a message.
v1::ListWorkersResponse ListWorkers(const State& state, const v1::ListWorkersRequest& request = {});

// Of the ACTIVE sweeps that are not paused, those whose trials no connected worker could run: each with its first such trial,
// or zero where it waits for its data. A worker that is drained or in quarantine can run nothing; one that is busy can.
std::map<SweepId, TrialId> UnplaceableSweeps(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_STATUS_H_
