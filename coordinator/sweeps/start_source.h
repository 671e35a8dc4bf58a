// The training that a trial's training starts from: training.start_from names a point of its sweep, a trial or a training
// of this coordinator, and becomes the fingerprint of one stage. The result of a stage never changes, so that this
// fingerprint, in the specification of the training that starts from it, names one model.
#ifndef INLIER_COORDINATOR_SWEEPS_START_SOURCE_H_
#define INLIER_COORDINATOR_SWEEPS_START_SOURCE_H_

#include <set>

#include "coordinator/state/context.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// OK when the trials and trainings that the sweep's points name are there. InvalidArgument with the path of each that is not.
absl::Status CheckStarts(const State& state, const SweepGrid& grid);

// The stage; InvalidArgument where there is none, or too many trainings start from each other. REQUIRES: expanded.unlinked,
// and the points before it have their trials.
absl::StatusOr<StageId> FindStart(const State& state, Sweep& sweep, const ExpandedTrial& expanded);

// InvalidArgument when the model of `start` is gone, and the trial's training with this number, which starts from it, has no
// result. REQUIRES: trial.train.
absl::Status CheckStartModel(const State& state, StageId start, const ExpandedTrial& trial,
                             std::uint32_t number);

// The trainings that the sweep's file names, of trials and by fingerprint, while it has trials to make; else none.
std::set<StageId> StartsToCome(const State& state, const Sweep& sweep);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_START_SOURCE_H_
