// Trainings that are ended early because others of their sweep do better.
//
// A pruned trial is CANCELLED with the reason as its message and a TrialPruning row (docs/decisions/0008-pruned-trials.md).
#ifndef INLIER_COORDINATOR_PRUNING_PRUNING_H_
#define INLIER_COORDINATOR_PRUNING_PRUNING_H_

#include "coordinator/state/context.h"

namespace inlier {

// Checks a point of a curve for every sweep that needs the stage, and ends the attempt when all of them prune it.
void JudgePoint(Context& context, const Attempt& attempt, const v1::MeasurementPoint& point);

// The training, the trial's own or one that it starts from, was pruned for its sweep before.
bool IsPruned(const State& state, const Trial& trial, const Stage& train);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PRUNING_PRUNING_H_
