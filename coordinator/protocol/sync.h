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

// Adds to `answer` all attempts that the worker should run, those that it should end, with the reasons, and the checks of data
// and the artifacts that it is asked for. A sync lists the worker's attempts: the answer omits the specifications of listed
// attempts, and ends listed attempts only. Without a sync (a push) both are complete.
void FillAnswer(const State& state, const WorkerEntry& worker, const v1::WorkerSync* sync,
                v1::CoordinatorSync& answer);

// The complete reply. `by_stream`: work is pushed to the worker, so it need not poll.
v1::CoordinatorSync AnswerSync(const State& state, const WorkerEntry& worker, const v1::WorkerSync& sync,
                               bool by_stream);

// Work for idle workers (offer.cc). A worker whose stream is open and has nothing unanswered is listening: a stage that becomes
// ready is leased to it and pushed, so that nothing waits for a heartbeat.
//
// Leases ready stages to listening workers, unless the store cannot take leases now, and fills effects.pushes
// with their messages, ended attempts included. Called after every other call, into the same effects.
void Offer(Context& context, bool grant_leases);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROTOCOL_SYNC_H_
