// The end of an attempt, and the next state of its stage after a failure.
#ifndef INLIER_COORDINATOR_ATTEMPTS_ATTEMPT_END_H_
#define INLIER_COORDINATOR_ATTEMPTS_ATTEMPT_END_H_

#include "coordinator/state/context.h"

namespace inlier {

// Ends a live attempt; the caller decides the state of its stage. The worker gets `stop_reason`.
void EndAttempt(Context& context, Token token, v1::TrialState outcome,
                std::optional<v1::FailureClass> failure, const std::string& message,
                const std::string& stop_reason);

// Counts the failure of an ended attempt, then retries the stage or fails it, as the retry policy decides.
void AttemptFailed(Context& context, Stage& stage, const Attempt& attempt, v1::FailureClass failure,
                   const std::string& message);

// A yielding attempt has stopped: its stage waits again and no failure is counted, or it has TIMED_OUT.
void Yielded(Context& context, const Attempt& attempt, std::string message);

// Ends yielding attempts of the worker that its sync no longer lists.
void EndForgottenYields(Context& context, const WorkerEntry& worker, const v1::WorkerSync& sync);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_ATTEMPT_END_H_
