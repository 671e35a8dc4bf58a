// Status of sweeps and workers, for people.
#ifndef INLIER_COORDINATOR_STATUS_STATUS_H_
#define INLIER_COORDINATOR_STATUS_STATUS_H_

#include "coordinator/state/context.h"

namespace inlier {

// The sweep has ended and none of its attempts runs.
bool IsOver(const State& state, SweepId id);

// Points without a trial yet are PENDING ones of an ACTIVE sweep, else CANCELLED. Without `pruned`.
v1::TrialCounts TrialsByState(const Sweep& sweep);

v1::SweepStatus StatusOf(const State& state, SweepId id, Timestamp now, bool with_spec);

// The present state, with the notices after number `sequence` that are still in memory. The update holds the number
// of the last one.
v1::SweepUpdate DescribeSweep(const State& state, SweepId id, Moment now, std::uint64_t sequence);

// One page of sweeps, the newest first.
absl::StatusOr<v1::ListSweepsResponse> ListSweeps(const State& state, const v1::ListSweepsRequest& request,
                                                  Timestamp now);

// By incarnation, a page of them: at most request.page_size, and not more than fit into a message.
v1::ListWorkersResponse ListWorkers(const State& state, const v1::ListWorkersRequest& request = {});

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_STATUS_H_
