// What follows for trials when a stage gets its result, fails, or is no longer needed.
#ifndef INLIER_COORDINATOR_ATTEMPTS_STAGE_RESULTS_H_
#define INLIER_COORDINATOR_ATTEMPTS_STAGE_RESULTS_H_

#include "coordinator/state/context.h"

namespace inlier {

void SetTrialState(Context& context, Trial& trial, v1::TrialState to, const std::string& message);

// Ends a stage that is open though no trial needs it.
void CancelIfUnneeded(Context& context, Stage& stage);

void Reopen(Context& context, Stage& stage);

void StageSucceeded(Context& context, Stage& stage, const Attempt& attempt);

void StageDiverged(Context& context, Stage& stage);

void FailStage(Context& context, Stage& stage, const std::string& message);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_STAGE_RESULTS_H_
