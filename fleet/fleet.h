// The fleet's decisions: the changes after a look at the engine's queue, and the requests to the engine.
//
// Never twice: a submission is stored as ASKED before the engine is asked, and its number is in the name of its jobs. The
// answer makes it TAKEN or REFUSED. Without an answer (a time limit, a kill, a crash of the coordinator) the queue
// decides: a job of that name makes it TAKEN, also later than unclear_seconds, when it would be LOST. Until then its jobs
// count as there. A job is over when the queue no longer lists it and no worker of it is connected.
//
// A job that is given back is drained first: its worker takes no new attempt from the decision on, and is idle when it ends.
//
// Thread safety: none.
#ifndef INLIER_FLEET_FLEET_H_
#define INLIER_FLEET_FLEET_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fleet/state.h"

namespace inlier {

// Drains the workers of jobs that are asked to end, and of all jobs of a fleet that is stopped.
JobDrain DrainOf(const Fleet& fleet);

// Takes a look, and decides. REQUIRES: there is a fleet.
FleetStep TakeLook(FleetContext& context, const EngineLook& look);

// With a view from after the drain of step.cancel: a job whose worker has got an attempt before it stays. Adds jobs that were
// asked to end long ago and are still there. False: some stay, and their drain must end.
bool ConfirmGivenBack(FleetContext& context, FleetStep& step);

void TakeSubmitted(FleetContext& context, const Submitted& submitted);
void TakeCancelled(FleetContext& context, const std::vector<std::string>& jobs, const absl::Status& status);

// Makes the fleet or replaces it; a scale and a stop of before end. FailedPrecondition: the coordinator's configuration has
// one. InvalidArgument: CheckFleetConfig, or a field that decides what the coordinator runs itself.
// `new_id`: of a fleet where there was none.
absl::StatusOr<v1::SetFleetResponse> SetFleet(FleetContext& context, const v1::SetFleetRequest& request,
                                              const std::string& new_id);

// NotFound: there is no fleet. The same for the next, which leaves the yields of `now` to the caller.
absl::StatusOr<v1::ScaleFleetResponse> ScaleFleet(FleetContext& context,
                                                  const v1::ScaleFleetRequest& request);
absl::StatusOr<v1::StopFleetResponse> StopFleet(FleetContext& context, const v1::StopFleetRequest& request);

struct FleetPlan {
  std::uint32_t submit = 0;              // Jobs to ask for now, with one submission.
  std::vector<std::string> give_back{};  // Jobs to end.
};

// How many jobs the fleet should have, and what to do about it (plan.cc). Also notes the wanted jobs, the waiting work, and since
// when there are too many jobs and workers have been idle.
//
// A job counts once its submission is stored, so one whose fate is not known is never asked for again. Given back are jobs
// that are of no use, and where there are too many first those that wait in the engine's queue, then those whose workers are
// idle, the longest idle first; a worker with an attempt is never given back here.
FleetPlan PlanFleet(FleetContext& context);

// Brings submissions and jobs in line with the queue. A look that failed changes no submission.
void Reconcile(FleetContext& context, const EngineLook& look);

// "17" of "17_3": the engine's id of an array; another job's id stays.
std::string ArrayOf(const std::string& job);

// Connected workers by the job that they run in. Of a job that was queued again the worker that was heard last: the one
// before it counts as connected for a while. The view outlives it.
using WorkerOfJob = std::map<std::string, const ClusterView::Worker*>;
WorkerOfJob WorkersByJob(const ClusterView& view);

// The engine has the submission as this job or array.
void MarkTaken(FleetContext& context, FleetSubmission& submission, const std::string& job);

// Stores its end and forgets it. REQUIRES: it is open.
void EndSubmission(FleetContext& context, std::uint64_t number, FleetSubmissionRow::State state,
                   const std::string& message);

}  // namespace inlier

#endif  // INLIER_FLEET_FLEET_H_
