// From what went wrong to an Outcome: the class that decides about another try, and a message for people.
//
// Thread safety: pure functions.
#ifndef INLIER_CORE_TRIAL_FAILURE_H_
#define INLIER_CORE_TRIAL_FAILURE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

v1::Outcome Succeeded();
v1::Outcome Diverged(const std::string& message);
v1::Outcome Failed(v1::FailureClass failure, const std::string& message);

// InvalidArgument, NotFound, FailedPrecondition: the trial can never run as it is (INVALID_SPEC). Cancelled:
// PREEMPTED. Anything else is the machine's: CRASHED.
v1::Outcome FailedWith(const absl::Status& status);

// Runs `work`; what it throws becomes an outcome. Memory that ran out, of the machine or of the GPU, is
// OUT_OF_MEMORY, everything else CRASHED.
v1::Outcome CatchFailures(const std::function<v1::Outcome()>& work);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_FAILURE_H_
