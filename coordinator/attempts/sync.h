// The workers' protocol. Level-triggered: a sync replaces what the worker reported before, and every answer holds all
// that the worker should run, so that a lost, doubled or late message heals at the next one.
#ifndef INLIER_COORDINATOR_ATTEMPTS_SYNC_H_
#define INLIER_COORDINATOR_ATTEMPTS_SYNC_H_

#include "coordinator/state/context.h"

namespace inlier {

absl::Status CheckSync(State& state, const v1::WorkerSync& sync);

void UpdateWorker(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync, bool is_new);

void TakeReports(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);

v1::CoordinatorSync AnswerSync(const State& state, const WorkerEntry& worker, const v1::WorkerSync& sync,
                               bool by_stream);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_SYNC_H_
