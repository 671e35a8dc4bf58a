#include "coordinator/attempts/stage_results.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

void ReleaseStage(Context& context, Stage& stage, const Trial& trial) {
  State& state = context.state;
  if (!stage.RemoveDependent(trial.sweep, trial.id)) return;
  StageTally& tally = state.sweeps.at(trial.sweep).TallyOf(stage);
  --tally.needed;
  tally.weight_needed -= stage.Weight();
  state.scheduler.RemoveReady(trial.sweep, stage.id);
  if (!stage.IsNeeded() || INLIER_BUG("shared_stage_cancelled")) CancelIfUnneeded(context, stage);
  stage.Tidy();
}

}  // namespace

void SetTrialState(Context& context, Trial& trial, v1::TrialState to, const std::string& message) {
  if (!MarkTrial(context, trial, to, message) || !IsTerminal(to)) return;
  State& state = context.state;
  context.out.log.push_back(absl::StrCat("trial_ended trial=", trial.id.ToString(), " sweep=",
                                         trial.sweep.ToString(), " state=", v1::TrialState_Name(to)));
  context.settle.insert(trial.sweep);
  if (trial.train) ReleaseStage(context, state.stages.at(trial.train), trial);
  if (trial.evaluate) ReleaseStage(context, state.stages.at(trial.evaluate), trial);
}

void CancelIfUnneeded(Context& context, Stage& stage) {
  State& state = context.state;
  if ((stage.IsNeeded() && !INLIER_BUG("shared_stage_cancelled")) || IsTerminal(stage.state)) return;
  if (stage.live() != 0 && !INLIER_BUG("cancel_forgets_running_attempt"))
    EndAttempt(context, stage.live(), v1::CANCELLED, std::nullopt, "no trial needs it any more", "cancelled");
  ForgetRetry(state, stage);
  stage.ready = false;
  SetStageState(state, stage, v1::CANCELLED);
  CommitStage(context, stage);
}

void Reopen(Context& context, Stage& stage) {
  State& state = context.state;
  INLIER_CHECK(IsTerminal(stage.state) && !IsResult(stage.state));
  if (stage.detail().failures != StageFailures()) stage.edit().failures = {};
  if (!stage.detail().crashed_on.empty()) stage.edit().crashed_on.clear();
  stage.SetMessage("");
  stage.Tidy();
  SetStageState(state, stage, v1::PENDING);
  if (!INLIER_BUG("reopened_stage_not_stored")) CommitStage(context, stage);
}

void StageSucceeded(Context& context, Stage& stage, const Attempt& attempt) {
  State& state = context.state;
  SetStageState(state, stage, v1::SUCCEEDED);
  stage.SetMessage("");
  stage.edit().failures = {};
  stage.edit().crashed_on.clear();
  const std::vector<TrialId> trials = stage.DependentTrials();
  if (stage.kind == v1::EVALUATE_STAGE) {
    for (const TrialId id : trials) SetTrialState(context, state.trials.at(id), v1::SUCCEEDED, "");
    return;
  }
  const std::optional<Digest> checkpoint = ParseSha256Hex(attempt.final_checkpoint);
  INLIER_CHECK(checkpoint.has_value());
  Trained& trained = state.trained[stage.id];
  trained.checkpoint = *checkpoint;
  trained.holder = stage.detail().holder;
  stage.edit().holder = 0;
  stage.ForgetCheckpoint();
  for (const TrialId id : trials) ReleaseStage(context, stage, state.trials.at(id));
  for (const TrialId id : trials) SetTrialState(context, state.trials.at(id), v1::PENDING, "");
  for (const StageId id : stage.evaluations) RefreshReadiness(context, state.stages.at(id));
}

void StageDiverged(Context& context, Stage& stage) {
  State& state = context.state;
  SetStageState(state, stage, v1::DIVERGED);
  stage.SetMessage("");
  stage.edit().failures = {};
  stage.edit().crashed_on.clear();
  stage.edit().holder = 0;
  stage.ForgetCheckpoint();
  for (const StageId id : stage.evaluations) {
    Stage& evaluate = state.stages.at(id);
    if (!evaluate.IsNeeded() || INLIER_BUG("evaluate_survives_diverged_training")) continue;
    ForgetRetry(state, evaluate);
    SetStageState(state, evaluate, v1::DIVERGED);
    evaluate.SetMessage("");
    CommitStage(context, evaluate);
  }
  for (const TrialId id : stage.DependentTrials())
    SetTrialState(context, state.trials.at(id), v1::DIVERGED, "");
}

void FailStage(Context& context, Stage& stage, const std::string& message) {
  State& state = context.state;
  SetStageState(state, stage, v1::FAILED);
  stage.SetMessage(message);
  CommitStage(context, stage);
  NoticeOfStage(context, stage, "stage_failed", absl::StrCat("FAILED, ", message), 0);
  for (const TrialId id : stage.DependentTrials())
    SetTrialState(context, state.trials.at(id), v1::FAILED, message);
}

}  // namespace inlier
