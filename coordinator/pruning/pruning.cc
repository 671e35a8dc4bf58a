#include "coordinator/pruning/pruning.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/scheduling/sources.h"
#include "coordinator/state/transitions.h"
#include "spec/sweep/pruning_checks.h"

namespace inlier {
namespace {

// The last point of a training is not judged: there is nothing left to save.
bool IsLast(const Stage& stage, const Attempt& attempt, std::uint64_t step) {
  const std::uint64_t steps = stage.steps > 0 ? stage.steps : attempt.progress.steps_total();
  return steps > 0 && step >= steps;
}

void PruneStage(Context& context, Stage& stage, const std::string& reason) {
  State& state = context.state;
  const Token token = stage.live();
  NoticeOfStage(context, stage, "stage_pruned", reason, token);
  const std::vector<TrialId> trials = stage.DependentTrials();
  stage.SetMessage(reason);
  EndAttempt(context, token, v1::CANCELLED, std::nullopt, reason, reason);
  for (const TrialId id : trials) {
    Trial& trial = state.trials.at(id);
    SetPruning(state.sweeps.at(trial.sweep), trial, TrialPruningState::kPruned);
    context.out.changes.Add(TrialPruning{.id = id, .state = trial.pruning});
    const std::string source =
        IsSourceFor(stage, trial) ? absl::StrCat(SourceText(state, stage), ": ") : std::string();
    // The last of them cancels the stage too: no trial needs it then.
    SetTrialState(context, trial, v1::CANCELLED, absl::StrCat(source, reason));
  }
  INLIER_CHECK(stage.state == v1::CANCELLED);
}

// By the number of its sample, whose trials are compared alike; without sampling by that of its point.
std::uint32_t BracketOf(const Sweep& sweep, const Trial& trial) {
  const v1::SamplingSpec& sampling = sweep.spec.sampling();
  const std::uint64_t samples =
      sampling.random().trials() + sampling.sobol().trials() + sampling.optuna().trials();
  const std::uint64_t each = samples == 0 ? 1 : std::max<std::uint64_t>(1, sweep.expansion.points / samples);
  return PruningBracketOf(sweep.pruning.pruner->spec(), trial.point / each);
}

bool WantsPruned(const State& state, const Sweep& sweep, const Stage& stage) {
  if (!sweep.pruning.pruner || !sweep.pruning.pruner->Wants(stage.id) ||
      sweep.pruning.kept.contains(stage.id))
    return false;
  // A user wants a trial whose training starts from it.
  const std::vector<TrialId> trials = stage.DependentTrials();
  return std::ranges::none_of(trials, [&](TrialId id) {
    const Trial& trial = state.trials.at(id);
    return trial.sweep == sweep.id && trial.pruning == TrialPruningState::kKept;
  });
}

}  // namespace

void JudgePoint(Context& context, const Attempt& attempt, const v1::MeasurementPoint& point) {
  State& state = context.state;
  Stage& stage = state.stages.at(attempt.stage);
  if (stage.kind != v1::TRAIN_STAGE || point.final() || !point.site().empty() ||
      IsLast(stage, attempt, point.step()))
    return;
  bool all_want = true;
  std::string reason;
  for (const auto& [id, first_trial] : stage.Dependents()) {
    Sweep& sweep = state.sweeps.at(id);
    if (sweep.pruning.pruner && sweep.pruning.pruner->spec().measurement() == point.name()) {
      if (auto decision = sweep.pruning.pruner->Judge(
              stage.id, BracketOf(sweep, state.trials.at(first_trial)), point.step(), point.value())) {
        decision->sweep = id;
        decision->token = attempt.token;
        decision->at = context.now.wall;
        sweep.pruning.pruner->Record(*decision);
        if (decision->prune) reason = sweep.pruning.pruner->Reason(*decision);
        context.out.changes.Add(*std::move(decision));
      }
    }
    all_want = all_want && WantsPruned(state, sweep, stage);
  }
  if (all_want && !reason.empty()) PruneStage(context, stage, reason);
}

bool IsPruned(const State& state, const Trial& trial, const Stage& train) {
  return trial.pruning != TrialPruningState::kKept && train.state == v1::CANCELLED &&
         state.sweeps.at(trial.sweep).pruning.pruned.contains(train.id);
}

}  // namespace inlier
