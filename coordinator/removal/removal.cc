#include "coordinator/removal/removal.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"
#include "coordinator/sweeps/label.h"
#include "coordinator/sweeps/settle.h"
#include "coordinator/sweeps/start_source.h"

namespace inlier {
namespace {

// Between two stages that are emptied: what they had may be many rows, and other changes are stored in between.
constexpr Duration kPace = std::chrono::milliseconds(20);

// The trainings of the trials of sweeps with `gone`, without those that other sweeps need.
std::set<StageId> TrainingsOnlyOf(const State& state, const std::function<bool(const Sweep&)>& gone) {
  std::set<StageId> only;
  for (const Trial& trial : state.trials) {
    if (trial.train && gone(state.sweeps.at(trial.sweep))) only.insert(trial.train);
  }
  if (INLIER_BUG("removal_frees_shared_stage")) return only;
  const auto keep = [&](StageId id) {
    for (; id; id = state.stages.at(id).start) only.erase(id);
  };
  for (const Trial& trial : state.trials) {
    if (!gone(state.sweeps.at(trial.sweep))) keep(trial.train);
  }
  for (const Sweep& sweep : state.sweeps) {
    if (!gone(sweep)) std::ranges::for_each(StartsToCome(state, sweep), keep);
  }
  return only;
}

void SetFate(Context& context, Stage& stage, StageFate fate) {
  INLIER_CHECK(IsTerminal(stage.state));
  stage.fate = fate;
  if (fate == StageFate::kFreed) context.state.models.freed.insert(stage.id);
  context.out.changes.Add(StageGone{.id = stage.id, .fate = fate});
}

void SetRemoved(Context& context, Sweep& sweep, std::optional<WallTime> at) {
  sweep.order.removed = at;
  context.state.sweeps.FindAgain(sweep.spec.name(), sweep.owner);
  CommitOrder(context, sweep);
}

std::optional<Timestamp> EmptyDue(const State& state) {
  if (state.models.freed.empty()) return std::nullopt;
  return state.models.empty_next;
}

void EmptyOne(Context& context) {
  Models& models = context.state.models;
  if (models.freed.empty()) return;
  const StageId id = models.freed.extract(models.freed.begin()).value();
  context.state.stages.at(id).fate = StageFate::kEmpty;
  context.out.changes.Add(StageGone{.id = id, .fate = StageFate::kEmpty});
  models.empty_next = context.now.at + kPace;
}

}  // namespace

absl::StatusOr<Removal> PlanRemoval(const State& state, const v1::RemoveSweepRequest& request,
                                    const Caller& caller) {
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  RETURN_IF_ERROR(CheckMayChange(state, caller, id));
  const Sweep& sweep = state.sweeps.at(id);
  Removal removal;
  v1::RemoveSweepResponse& answer = removal.answer;
  answer.set_sweep_id(id.ToString());
  answer.set_name(sweep.spec.name());
  answer.set_trials(sweep.trials.size());
  answer.set_results(sweep.Count(v1::SUCCEEDED) + sweep.Count(v1::DIVERGED));
  const std::uint64_t not_made = sweep.state == v1::ACTIVE ? sweep.Total() - sweep.trials.size() : 0;
  answer.set_open(sweep.Open() + not_made);
  const std::set<StageId> only =
      TrainingsOnlyOf(state, [id](const Sweep& other) { return other.id == id || other.order.freed; });
  std::set<StageId> trainings;
  for (const Trial& trial : state.trials) {
    if (trial.sweep == id && trial.train) trainings.insert(trial.train);
  }
  std::ranges::copy_if(trainings, std::back_inserter(removal.trainings),
                       [&only](StageId training) { return only.contains(training); });
  answer.set_trainings(removal.trainings.size());
  answer.set_shared(trainings.size() - removal.trainings.size());
  return removal;
}

absl::StatusOr<v1::RemoveSweepResponse> RemoveSweep(Context& context, const v1::RemoveSweepRequest& request,
                                                    const Caller& caller) {
  State& state = context.state;
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  ASSIGN_OR_RETURN(const Removal removal, PlanRemoval(state, request, caller));
  Sweep& sweep = state.sweeps.at(id);
  if (sweep.state == v1::ACTIVE || sweep.Open() > 0) {
    if (!request.cancel()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "sweep ", id.ToString(), " (", sweep.spec.name(), ") has not ended: ", removal.answer.open(),
          " of its trials run or wait; cancel it first, or `inlier remove ", id.ToString(), " --cancel`"));
    }
    EndSweep(context, sweep, v1::SWEEP_CANCELLED, "sweep_cancelled",
             "the sweep was cancelled, to be removed");
  }
  Notice(context, sweep, "sweep_removed", "the sweep was removed");
  SetRemoved(context, sweep, context.now.wall);
  return removal.answer;
}

absl::StatusOr<v1::RestoreSweepResponse> RestoreSweep(Context& context,
                                                      const v1::RestoreSweepRequest& request,
                                                      const Caller& caller) {
  State& state = context.state;
  ASSIGN_OR_RETURN(const SweepId id, FindRemovedSweep(state, request.sweep(), caller.name));
  RETURN_IF_ERROR(CheckMayChange(state, caller, id));
  Sweep& sweep = state.sweeps.at(id);
  if (sweep.order.freed) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", id.ToString(), " (", sweep.spec.name(),
                     ") cannot be restored: `inlier gc` has freed it for good; submit it again"));
  }
  v1::RestoreSweepResponse response;
  response.set_sweep_id(id.ToString());
  response.set_name(sweep.spec.name());
  response.set_changed(sweep.order.removed.has_value());
  if (!sweep.order.removed) return response;
  SetRemoved(context, sweep, std::nullopt);
  Notice(context, sweep, "sweep_restored", "the sweep was restored");
  return response;
}

Freed PlanFree(const State& state, const std::vector<StageId>& models) {
  Freed freed;
  for (const Sweep& sweep : state.sweeps) {
    if (sweep.order.removed && !sweep.order.freed) freed.sweeps.insert(sweep.id);
  }
  if (!freed.sweeps.empty())
    freed.stages = TrainingsOnlyOf(state, [](const Sweep& sweep) { return sweep.order.removed.has_value(); });
  std::erase_if(freed.stages, [&](StageId id) { return state.stages.at(id).IsFreed(); });
  for (const StageId id : std::vector(freed.stages.begin(), freed.stages.end())) {
    const auto& evaluations = state.stages.at(id).evaluations;
    freed.stages.insert(evaluations.begin(), evaluations.end());
  }
  freed.models = {models.begin(), models.end()};
  std::erase_if(freed.models, [&](StageId id) {
    const Stage& stage = state.stages.at(id);
    return freed.stages.contains(id) || stage.fate != StageFate::kWhole || stage.state != v1::SUCCEEDED ||
           stage.kind != v1::TRAIN_STAGE || stage.open_evaluations > 0 || stage.IsNeeded();
  });
  for (const Stage& stage : state.stages) {
    if (freed.models.empty()) break;
    if (!IsResult(stage.state)) freed.models.erase(stage.start);
  }
  for (const Sweep& sweep : state.sweeps) {
    if (freed.models.empty()) break;
    for (const StageId id : StartsToCome(state, sweep)) freed.models.erase(id);
  }
  return freed;
}

Freed Free(Context& context, const std::vector<StageId>& models) {
  State& state = context.state;
  Freed freed = PlanFree(state, models);
  for (const SweepId id : freed.sweeps) {
    Sweep& sweep = state.sweeps.at(id);
    sweep.order.freed = true;
    CommitOrder(context, sweep);
    context.Log("sweep_freed sweep=", id.ToString());
  }
  for (const StageId id : freed.stages) SetFate(context, state.stages.at(id), StageFate::kFreed);
  for (const StageId id : freed.models) SetFate(context, state.stages.at(id), StageFate::kNoModel);
  return freed;
}

Feature FreedStages() { return {.due = EmptyDue, .act = EmptyOne}; }

}  // namespace inlier
