// The end of an attempt, and what becomes of its stage when it failed.
#ifndef INLIER_COORDINATOR_ATTEMPTS_ATTEMPT_END_H_
#define INLIER_COORDINATOR_ATTEMPTS_ATTEMPT_END_H_

#include "coordinator/state/context.h"

namespace inlier {

void EndAttempt(Context& context, Token token, v1::TrialState outcome,
                std::optional<v1::FailureClass> failure, const std::string& message,
                const std::string& stop_reason);

void AttemptFailed(Context& context, Stage& stage, const Attempt& attempt, v1::FailureClass failure,
                   const std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_ATTEMPT_END_H_
