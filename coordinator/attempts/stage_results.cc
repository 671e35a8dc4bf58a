#include "coordinator/attempts/stage_results.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/scheduling/sources.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

void ReleaseStage(Context& context, Stage& stage, const Trial& trial) {
  State& state = context.state;
  if (!stage.RemoveDependent(trial.sweep, trial.id)) return;
  ForEachFeature(&Feature::sweep_left_stage, context, stage, trial.sweep);
  if (stage.HasSweep(trial.sweep)) {
    StageTally& tally = state.sweeps.at(trial.sweep).TallyOf(stage);
    --tally.needed;
    tally.weight_needed -= stage.Weight();
  }
  state.ready.RemoveReady(trial.sweep, stage.id);
  if (!stage.IsNeeded()) CancelIfUnneeded(context, stage);
  stage.Tidy();
}

// The stage has no attempt to come.
void SetDiverged(State& state, Stage& stage) {
  SetStageState(state, stage, v1::DIVERGED);
  stage.SetMessage("");
  stage.edit().failures = {};
  stage.edit().crashed_on.clear();
  stage.edit().holder = 0;
  stage.edit().ran_ms = 0;
  stage.edit().resume_points.clear();
}

void DivergeEvaluations(Context& context, Stage& train) {
  State& state = context.state;
  for (const StageId id : train.evaluations) {
    Stage& evaluate = state.stages.at(id);
    if (!evaluate.IsNeeded() || INLIER_BUG("evaluate_survives_diverged_training")) continue;
    ForgetRetry(state, evaluate);
    SetStageState(state, evaluate, v1::DIVERGED);
    evaluate.SetMessage("");
    CommitStage(context, evaluate);
  }
}

}  // namespace

void SetTrialState(Context& context, Trial& trial, v1::TrialState to, const std::string& message) {
  if (!MarkTrial(context, trial, to, message) || !IsTerminal(to)) return;
  State& state = context.state;
  context.Log("trial_ended trial=", trial.id.ToString(), " sweep=", trial.sweep.ToString(),
              " state=", v1::TrialState_Name(to));
  context.settle.insert(trial.sweep);
  if (trial.train) ReleaseStage(context, state.stages.at(trial.train), trial);
  if (trial.evaluate) ReleaseStage(context, state.stages.at(trial.evaluate), trial);
  if (!trial.train || INLIER_BUG("ended_trial_keeps_its_source")) return;
  for (const StageId id : OpenSources(state, state.stages.at(trial.train)))
    ReleaseStage(context, state.stages.at(id), trial);
}

void CancelIfUnneeded(Context& context, Stage& stage) {
  State& state = context.state;
  if (stage.IsNeeded() || IsTerminal(stage.state)) return;
  if (stage.live() != 0 && !INLIER_BUG("cancel_forgets_running_attempt"))
    EndAttempt(context, stage.live(), v1::CANCELLED, std::nullopt, "no trial needs it any more", "cancelled");
  ForgetRetry(state, stage);
  stage.ready = false;
  SetStageState(state, stage, v1::CANCELLED);
  CommitStage(context, stage);
}

void Reopen(Context& context, Stage& stage) {
  INLIER_CHECK(IsTerminal(stage.state) && !IsResult(stage.state));
  if (stage.detail().failures != StageFailures()) stage.edit().failures = {};
  if (!stage.detail().crashed_on.empty()) stage.edit().crashed_on.clear();
  if (stage.detail().ran_ms > 0) stage.edit().ran_ms = 0;
  stage.SetMessage("");
  stage.Tidy();
  SetStageState(context.state, stage, v1::PENDING);
  if (!INLIER_BUG("reopened_stage_not_stored")) CommitStage(context, stage);
}

void StageSucceeded(Context& context, Stage& stage, const Attempt& attempt) {
  State& state = context.state;
  SetStageState(state, stage, v1::SUCCEEDED);
  stage.SetMessage("");
  stage.edit().failures = {};
  stage.edit().crashed_on.clear();
  const std::vector<TrialId> trials = stage.DependentTrials();
  ForEachFeature(&Feature::stage_succeeded, context, stage);
  stage.edit().ran_ms = 0;
  if (stage.kind == v1::EVALUATE_STAGE) {
    for (const TrialId id : trials) SetTrialState(context, state.trials.at(id), v1::SUCCEEDED, "");
    return;
  }
  state.models.trained[stage.id] = {.checkpoint = DigestOfHex(attempt.final_checkpoint.digest),
                                    .holder = stage.detail().holder};
  stage.edit().holder = 0;
  stage.edit().resume_points.clear();
  for (const TrialId id : trials) ReleaseStage(context, stage, state.trials.at(id));
  for (const TrialId id : trials) SetTrialState(context, state.trials.at(id), v1::PENDING, "");
  for (const TrialId id : trials) {
    const Trial& trial = state.trials.at(id);
    if (!IsSourceFor(stage, trial)) continue;
    Stage& train = state.stages.at(trial.train);
    RefreshReadiness(context, train);
    for (const StageId source : OpenSources(state, train)) RefreshReadiness(context, state.stages.at(source));
  }
  for (const StageId id : stage.evaluations) {
    RefreshReadiness(context, state.stages.at(id));
    ForEachFeature(&Feature::stage_waits, context, state.stages.at(id));
  }
}

void StageDiverged(Context& context, Stage& stage) {
  State& state = context.state;
  SetDiverged(state, stage);
  DivergeEvaluations(context, stage);
  for (const TrialId id : stage.DependentTrials()) {
    Trial& trial = state.trials.at(id);
    std::string message;
    if (IsSourceFor(stage, trial)) {
      message = absl::StrCat(SourceText(state, stage), ", has DIVERGED");
      DivergeWithSource(context, state.stages.at(trial.train));
    }
    SetTrialState(context, trial, v1::DIVERGED, message);
  }
}

void DivergeWithSource(Context& context, Stage& train) {
  State& state = context.state;
  for (Stage* stage = &train; stage->state != v1::DIVERGED; stage = &state.stages.at(stage->start)) {
    if (IsTerminal(stage->state)) Reopen(context, *stage);
    ForgetRetry(state, *stage);
    SetDiverged(state, *stage);
    CommitStage(context, *stage);
    DivergeEvaluations(context, *stage);
    stage->Tidy();
  }
}

void FailStage(Context& context, Stage& stage, const std::string& message) {
  State& state = context.state;
  SetStageState(state, stage, v1::FAILED);
  stage.SetMessage(message);
  CommitStage(context, stage);
  NoticeOfStage(context, stage, "stage_failed", absl::StrCat("FAILED, ", message), 0);
  for (const TrialId id : stage.DependentTrials()) {
    Trial& trial = state.trials.at(id);
    const std::string source =
        IsSourceFor(stage, trial) ? absl::StrCat(SourceText(state, stage), ", FAILED: ") : std::string();
    SetTrialState(context, trial, v1::FAILED, absl::StrCat(source, message));
  }
}

}  // namespace inlier
