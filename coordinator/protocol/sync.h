// The workers' protocol. Level-triggered: a sync replaces the worker's earlier report, and every answer lists
// all attempts that the worker should run, so that a lost, doubled or late message heals at the next one.
#ifndef INLIER_COORDINATOR_PROTOCOL_SYNC_H_
#define INLIER_COORDINATOR_PROTOCOL_SYNC_H_

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/state/context.h"

namespace inlier {

// The entry of the sync's worker; nullptr: it is a new one. FailedPrecondition for a version that CheckVersionSkew refuses;
// InvalidArgument for a malformed sync; PermissionDenied for a worker of another caller, ResourceExhausted for a new
// one of a caller that has as many as it may. `caller` empty: not known.
absl::StatusOr<WorkerEntry*> CheckSync(State& state, const v1::WorkerSync& sync, const std::string& caller);

// Updates the worker's entry and renews its leases. `is_new`: this sync adds the worker.
void UpdateWorker(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync, bool is_new);

// Takes the attempts that the worker lists: their slots, their progress, their adoption after a restart.
void TakeReports(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);

// The complete reply. `by_stream`: work is pushed to the worker, so it need not poll.
v1::CoordinatorSync AnswerSync(const State& state, const WorkerEntry& worker, const v1::WorkerSync& sync,
                               bool by_stream);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROTOCOL_SYNC_H_
