// Orchestrator: trainings that are ended because others do better.
//
// A pruned trial is CANCELLED with the reason as its message and a TrialPruning row
// (docs/decisions/0008-pruned-trials.md).
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {
namespace {

// The last point of a training is not judged: there is nothing left to save.
bool IsLast(const Stage& stage, const Attempt& attempt, std::uint64_t step) {
  const std::uint64_t steps = stage.steps > 0 ? stage.steps : attempt.progress.steps_total();
  return steps > 0 && step >= steps;
}

void Count(std::map<StageId, std::uint32_t>& counts, StageId stage, bool add) {
  if (add) {
    ++counts[stage];
  } else if (--counts.at(stage) == 0) {
    counts.erase(stage);
  }
}

}  // namespace

void Orchestrator::SetPruning(Sweep& sweep, Trial& trial, TrialPruningState state) {
  if (trial.pruning == TrialPruningState::kPruned) Count(sweep.pruned, trial.train, false);
  if (trial.pruning == TrialPruningState::kKept) Count(sweep.kept_from_pruning, trial.train, false);
  trial.pruning = state;
  if (state == TrialPruningState::kPruned) Count(sweep.pruned, trial.train, true);
  if (state == TrialPruningState::kKept) Count(sweep.kept_from_pruning, trial.train, true);
}

bool Orchestrator::IsPruned(const Trial& trial) const {
  return trial.pruning != TrialPruningState::kKept && stages_.at(trial.train).state == v1::CANCELLED &&
         sweeps_.View(trial.sweep)->pruned.contains(trial.train);
}

bool Orchestrator::WantsPruned(const Sweep& sweep, StageId stage) {
  return sweep.pruner && sweep.pruner->Wants(stage) && !sweep.kept_from_pruning.contains(stage);
}

void Orchestrator::JudgePoint(Context& context, const Attempt& attempt, const v1::MeasurementPoint& point) {
  Stage& stage = stages_.at(attempt.stage);
  if (stage.kind != v1::TRAIN_STAGE || point.final() || !point.site().empty() ||
      IsLast(stage, attempt, point.step()))
    return;
  bool all_want = true;
  std::string reason;
  for (const auto& [id, first_trial] : stage.Needers()) {
    Sweep& sweep = sweeps_.at(id);
    if (sweep.pruner && sweep.pruner->spec().measurement() == point.name()) {
      std::optional<PruningDecision> decision = sweep.pruner->Judge(stage.id, point.step(), point.value());
      if (decision) {
        decision->sweep = id;
        decision->token = attempt.token;
        decision->at = context.now.wall;
        sweep.pruner->Record(*decision);
        if (decision->prune) reason = sweep.pruner->Reason(*decision);
        if (!INLIER_BUG("verdict_not_stored")) context.out.changes.Add(*std::move(decision));
      }
    }
    all_want = all_want && WantsPruned(sweep, stage.id);
  }
  if (all_want && !reason.empty() && !INLIER_BUG("pruned_training_goes_on"))
    PruneStage(context, stage, reason);
}

void Orchestrator::PruneStage(Context& context, Stage& stage, const std::string& reason) {
  const Token token = stage.live();
  NoticeOfStage(context, stage, "stage_pruned", reason, token);
  const std::vector<TrialId> trials = stage.NeedingTrials();
  stage.SetMessage(reason);
  EndAttempt(context, token, v1::CANCELLED, std::nullopt, reason, reason);
  for (const TrialId id : trials) {
    Trial& trial = trials_.at(id);
    SetPruning(sweeps_.at(trial.sweep), trial, TrialPruningState::kPruned);
    context.out.changes.Add(TrialPruning{.id = id, .state = trial.pruning});
    // With the last of them the stage is CANCELLED too, for nothing needs it.
    SetTrialState(context, trial, v1::CANCELLED, reason);
  }
  INLIER_CHECK(stage.state == v1::CANCELLED);
}

}  // namespace inlier
