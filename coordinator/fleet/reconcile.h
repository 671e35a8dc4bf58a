// Brings the fleet's submissions and jobs in line with the engine's queue.
//
// Thread safety: none; functions of the State on the coordinator's thread.
#ifndef INLIER_COORDINATOR_FLEET_RECONCILE_H_
#define INLIER_COORDINATOR_FLEET_RECONCILE_H_

#include <cstdint>
#include <map>
#include <string>

#include "coordinator/fleet/fleet.h"

namespace inlier {

// A look that failed changes no submission.
void Reconcile(Context& context, const EngineLook& look);

// "17" of "17_3": the engine's id of an array; another job's id stays.
std::string ArrayOf(const std::string& job);

// Incarnations of connected workers by the job that they run in. Of a job that was queued again that of the worker that was
// heard last: the one before it counts as connected for a while.
std::map<std::string, std::string> WorkersByJob(const State& state);

// The engine has the submission as this job or array.
void MarkTaken(Context& context, FleetSubmission& submission, const std::string& job);

// Stores its end and forgets it. REQUIRES: it is open.
void EndSubmission(Context& context, std::uint64_t number, FleetSubmissionRow::State state,
                   const std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_FLEET_RECONCILE_H_
