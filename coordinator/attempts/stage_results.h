// Consequences for trials when a stage gets its result, fails, or is no longer needed.
#ifndef INLIER_COORDINATOR_ATTEMPTS_STAGE_RESULTS_H_
#define INLIER_COORDINATOR_ATTEMPTS_STAGE_RESULTS_H_

#include "coordinator/state/context.h"

namespace inlier {

// MarkTrial, and with a terminal state the trial releases its stages, and the trainings that its own starts from.
void SetTrialState(Context& context, Trial& trial, v1::TrialState to, const std::string& message);

// Ends an open stage that no trial needs.
void CancelIfUnneeded(Context& context, Stage& stage);

// Makes a FAILED or CANCELLED stage PENDING, with no failures counted.
void Reopen(Context& context, Stage& stage);

// A training hands its checkpoint to its evaluations and to the trainings that start from it; an evaluation ends its trials.
void StageSucceeded(Context& context, Stage& stage, const Attempt& attempt);

// DIVERGED is a result: the evaluations and trials of the stage end with it, and the trainings that start from it.
void StageDiverged(Context& context, Stage& stage);

// The same for a training that starts from one that has DIVERGED.
void DivergeWithSource(Context& context, Stage& train);

// Ends the stage, and every trial that needs it, as FAILED.
void FailStage(Context& context, Stage& stage, const std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_STAGE_RESULTS_H_
