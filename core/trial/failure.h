// From an error to an Outcome: the class that decides about another attempt, and a message for users.
#ifndef INLIER_CORE_TRIAL_FAILURE_H_
#define INLIER_CORE_TRIAL_FAILURE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

v1::Outcome Succeeded();
v1::Outcome Diverged(const std::string& message);

// InvalidArgument, NotFound, FailedPrecondition: the trial can never succeed (INVALID_SPEC). Cancelled:
// PREEMPTED. Any other error is the machine's: CRASHED.
v1::Outcome FailedWith(const absl::Status& status);

// Runs `work`; an exception becomes an outcome. Exhausted memory, of the machine or of the GPU, is
// OUT_OF_MEMORY, a script of the user that throws INVALID_SPEC, any other CRASHED; GangBroken with lost_a_rank.
v1::Outcome CatchFailures(const std::function<v1::Outcome()>& work);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_FAILURE_H_
