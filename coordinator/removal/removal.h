// Sweeps that users remove, and what is freed with them.
//
// A removed sweep (SweepOrder::removed) has ended, and is in no list, table or look-up; nothing else of it changes, and it can be
// restored. Free() frees the removed sweeps for good: each training that no other sweep needs, and its evaluations. Other sweeps
// need the trainings of their trials, of withdrawn ones too, those that these start from, and those that trials still to be made
// will start from. A freed stage (StageFate) keeps its row, its fingerprint and its tokens, is given to no new trial, and is
// emptied by FreedStages() later: its measurements and log lines are deleted. Its files are removed by the collection
// (artifacts/artifact_collector.h), which begins when what Free() did is stored. So whatever ends in between, no sweep can be
// restored without its models.
//
// A model goes alone, and the results stay, where no evaluation of its training lacks a result and no training that starts from
// it, or will, lacks one.
#ifndef INLIER_COORDINATOR_REMOVAL_REMOVAL_H_
#define INLIER_COORDINATOR_REMOVAL_REMOVAL_H_

#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "coordinator/state/feature.h"

namespace inlier {

struct Removal {
  v1::RemoveSweepResponse answer;  // Without `bytes`.
  std::vector<StageId> trainings;  // That only this sweep needs.
};
// What RemoveSweep would remove.
absl::StatusOr<Removal> PlanRemoval(const State& state, const v1::RemoveSweepRequest& request,
                                    const Caller& caller);

// FailedPrecondition for a sweep of which trials run or wait, unless they are to be cancelled.
absl::StatusOr<v1::RemoveSweepResponse> RemoveSweep(Context& context, const v1::RemoveSweepRequest& request,
                                                    const Caller& caller);
// FailedPrecondition when it is freed.
absl::StatusOr<v1::RestoreSweepResponse> RestoreSweep(Context& context,
                                                      const v1::RestoreSweepRequest& request,
                                                      const Caller& caller);

struct Freed {
  std::set<SweepId> sweeps;
  std::set<StageId> stages;  // Of which nothing stays: trainings, and their evaluations.
  std::set<StageId> models;  // Trainings of which the model goes.
};
// What Free would free: of `models` those that may go.
Freed PlanFree(const State& state, const std::vector<StageId>& models);
Freed Free(Context& context, const std::vector<StageId>& models);

Feature FreedStages();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_REMOVAL_REMOVAL_H_
