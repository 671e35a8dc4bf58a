// Retry of a stage after a failed attempt: if, and when. One switch over FailureClass.
//
// Counts are of the stage since it was made, or since a person asked for a retry. A count that reaches its
// limit ends the stage; LOST, PREEMPTED and SICK_DEVICE are not the trial's fault and have a
// limit of their own.
//
// Thread safety: free functions over values.
#ifndef INLIER_COORDINATOR_ATTEMPTS_RETRY_POLICY_H_
#define INLIER_COORDINATOR_ATTEMPTS_RETRY_POLICY_H_

#include <string>

#include "base/time.h"
#include "coordinator/state/feature.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// Adds one failed attempt of this class.
void CountFailure(v1::FailureClass failure, StageFailures& counts);

struct RetryDecision {
  bool again = false;
  Duration wait{0};  // With `again`: the least delay.
  std::string
      why_not;  // Without: for the trial's message, for example "crashed 2 times (retry.max_crashes = 2)".
};

// Decision after an attempt failed with `failure`; `counts` include it.
RetryDecision DecideRetry(v1::FailureClass failure, const StageFailures& counts, const v1::RetrySpec& policy);

// A stage that ran out of memory is retried with half as much again as it had, up to the largest registered
// worker. Returns the reason when the request cannot be raised; empty otherwise.
std::string RaiseMemory(Context& context, const Stage& stage, const Attempt& attempt);

// Forgets what was raised once there is a result.
Feature RaisedMemory();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_RETRY_POLICY_H_
