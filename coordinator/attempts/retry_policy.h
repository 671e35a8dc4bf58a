// Retry of a stage after a failed attempt: if, and when. One switch over FailureClass.
//
// Counts are of the stage since it was made, or since a user retried it. A count that reaches its limit ends the stage;
// LOST, PREEMPTED and SICK_DEVICE are not the trial's fault and have a limit of their own.
#ifndef INLIER_COORDINATOR_ATTEMPTS_RETRY_POLICY_H_
#define INLIER_COORDINATOR_ATTEMPTS_RETRY_POLICY_H_

#include <string>

#include "base/time.h"
#include "coordinator/state/feature.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

struct RetryDecision {
  bool again = false;
  Duration wait{0};     // With `again`: the least delay.
  std::string why_not;  // Without: for the trial's message: "crashed 2 times (retry.max_crashes = 2)".
};

// Counts one failed attempt of this class, and decides what follows.
RetryDecision CountFailure(v1::FailureClass failure, const v1::RetrySpec& policy, StageFailures& counts);

// A stage that ran out of memory is retried with half as much again as it had, up to the largest registered
// worker. Returns the reason when the request cannot be raised; empty otherwise.
std::string RaiseMemory(Context& context, const Stage& stage, const Attempt& attempt);

// Forgets what was raised once there is a result.
Feature RaisedMemory();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_RETRY_POLICY_H_
