// Changes that users make to sweeps, trials and workers while they run.
#ifndef INLIER_COORDINATOR_SWEEPS_CONTROL_H_
#define INLIER_COORDINATOR_SWEEPS_CONTROL_H_

#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "coordinator/status/cluster_view.h"

namespace inlier {

// Cancels the open trials of a sweep, or one trial.
absl::StatusOr<v1::CancelResponse> Cancel(Context& context, const v1::CancelRequest& request,
                                          const Caller& caller);

// Runs failed and cancelled trials again; pruned ones only by their own name.
absl::StatusOr<v1::RetryResponse> Retry(Context& context, const v1::RetryRequest& request,
                                        const Caller& caller);

// Starts no more attempts of a sweep. With `now`, attempts that only paused sweeps need write a checkpoint and stop.
absl::StatusOr<v1::PauseSweepResponse> PauseSweep(Context& context, const v1::PauseSweepRequest& request,
                                                  const Caller& caller);
absl::StatusOr<v1::ResumeSweepResponse> ResumeSweep(Context& context, const v1::ResumeSweepRequest& request,
                                                    const Caller& caller);

// Assigns no more work to a worker, or ends that (`resume`). With `now`, its attempts write a checkpoint and stop.
absl::StatusOr<v1::DrainWorkerResponse> DrainWorker(Context& context, const v1::DrainWorkerRequest& request,
                                                    const Caller& caller);

// The same of jobs of a cluster's engine, in place of those of before, with workers that come later. A start ends it.
void DrainJobs(Context& context, const JobDrain& drain);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_CONTROL_H_
