// Orchestrator: what follows from what, between stages, trials and sweeps.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {
namespace {

constexpr std::size_t kNoticesKept = 200;
constexpr std::uint64_t kFailureRatioTrialsMin = 10;  // Ended trials before their ratio is looked at.

}  // namespace

void Orchestrator::Touch(const Stage& stage) {
  for (const Needer& needer : stage.Needers()) ++sweeps_.at(needer.sweep).version;
}

void Orchestrator::Notice(Context& context, Sweep& sweep, const std::string& kind, const std::string& text,
                          EventRow about) {
  sweep.notices.push_back(text);
  if (sweep.notices.size() > kNoticesKept) sweep.notices.erase(sweep.notices.begin());
  ++sweep.notices_told;
  ++sweep.version;
  about.notice = sweep.notices_told;
  about.at = context.now.wall;
  about.kind = kind;
  about.sweep = sweep.id;
  about.message = text;
  context.out.changes.Add(std::move(about));
}

void Orchestrator::NoticeOfStage(Context& context, const Stage& stage, const std::string& kind,
                                 const std::string& text, Token token) {
  const char* what = stage.kind == v1::TRAIN_STAGE ? "train" : "evaluate";
  for (const auto& [sweep, first_trial] : stage.Needers()) {
    const Trial& trial = trials_.at(first_trial);
    std::string labels;
    for (const auto& [axis, label] : label_pool_.Unpack(trial.labels)) {
      absl::StrAppend(&labels, labels.empty() ? "" : ", ", axis, "=", label);
    }
    const std::string where =
        labels.empty() ? trial.id.ToString() : absl::StrCat(trial.id.ToString(), " (", labels, ")");
    EventRow about;
    about.trial = trial.id;
    about.stage = stage.id;
    about.token = token;
    Notice(context, sweeps_.at(sweep), kind, absl::StrCat(what, " ", where, ": ", text), std::move(about));
  }
}

void Orchestrator::SetStageState(Stage& stage, v1::TrialState state) {
  const v1::StageKind kind = stage.kind;
  --stage_counts_[{kind, StageState{stage.state}}];
  ++stage_counts_[{kind, state}];
  stage.state = state;
  if (!IsResult(state)) return;
  specs_.Release(stage.spec);
  stage.spec = kNoSpec;
}

void Orchestrator::CommitStage(Context& context, const Stage& stage) {
  context.out.changes.Add(StageChange{.id = stage.id,
                                      .state = stage.state,
                                      .failures = stage.detail().failures,
                                      .message = stage.detail().message});
}

void Orchestrator::CountTrial(Sweep& sweep, std::optional<v1::TrialState> from, v1::TrialState to) {
  if (from) {
    --sweep.CountOf(*from);
    --trial_counts_[*from];
  }
  ++sweep.CountOf(to);
  ++trial_counts_[to];
}

void Orchestrator::SetSweepState(Context& context, Sweep& sweep, v1::SweepState state) {
  if (sweep.paused) paused_sweeps_ += (state == v1::ACTIVE ? 1 : 0) - (sweep.state == v1::ACTIVE ? 1 : 0);
  --sweep_counts_[sweep.state];
  ++sweep_counts_[state];
  sweep.state = state;
  ++sweep.version;
  if (state == v1::ACTIVE) {
    sweep.ended.reset();
  } else {
    sweep.ended = context.now.wall;
    sweeps_.NoteEnd(sweep.id);
  }
  if (!INLIER_BUG("sweep_end_not_stored"))
    context.out.changes.Add(
        SweepChange{.id = sweep.id, .state = state, .next_point = std::nullopt, .at = context.now.wall});
  context.out.log.push_back(
      absl::StrCat("sweep_state sweep=", sweep.id.ToString(), " state=", v1::SweepState_Name(state)));
}

void Orchestrator::Need(Stage& stage, Trial& trial) {
  if (!stage.AddNeed(trial.sweep, trial.id)) return;
  StageTally& tally = TallyOf(sweeps_.at(trial.sweep), stage);
  ++tally.needed;
  tally.weight_needed += stage.Weight();
}

void Orchestrator::NoLongerNeed(Context& context, Stage& stage, const Trial& trial) {
  if (stage.RemoveNeed(trial.sweep, trial.id) != Stage::Removed::kSweep) return;
  StageTally& tally = TallyOf(sweeps_.at(trial.sweep), stage);
  --tally.needed;
  tally.weight_needed -= stage.Weight();
  scheduler_.RemoveReady(trial.sweep, stage.id);
  if (!stage.IsNeeded() || INLIER_BUG("shared_stage_cancelled")) CancelIfUnneeded(context, stage);
  stage.Tidy();
}

void Orchestrator::ForgetRetry(Stage& stage) {
  if (!stage.detail().not_before) return;
  retries_due_.erase({*stage.detail().not_before, stage.id});
  stage.edit().not_before.reset();
}

void Orchestrator::CancelIfUnneeded(Context& context, Stage& stage) {
  if ((stage.IsNeeded() && !INLIER_BUG("shared_stage_cancelled")) || IsTerminal(stage.state)) return;
  if (stage.live() != 0 && !INLIER_BUG("cancel_forgets_running_attempt"))
    EndAttempt(context, stage.live(), v1::CANCELLED, std::nullopt, "no trial needs it any more", "cancelled");
  ForgetRetry(stage);
  stage.ready = false;
  SetStageState(stage, v1::CANCELLED);
  CommitStage(context, stage);
}

bool Orchestrator::IsReady(const Stage& stage) const {
  if (stage.state != v1::PENDING || !stage.IsNeeded() || stage.detail().not_before) return false;
  return stage.kind == v1::TRAIN_STAGE || INLIER_BUG("evaluate_leased_before_checkpoint") ||
         stages_.at(stage.train()).state == v1::SUCCEEDED;
}

void Orchestrator::RefreshReadiness(Context& context, Stage& stage) {
  const bool ready = IsReady(stage);
  if (ready && !stage.ready) WaitForHolder(context, stage);
  stage.ready = ready;
  for (const auto& [sweep, first_trial] : stage.Needers()) {
    if (ready) {
      scheduler_.AddReady(sweep, stage.id, stage.kind, first_trial, ShapeOf(sweeps_.at(sweep), stage),
                          context.now.at);
    } else {
      scheduler_.RemoveReady(sweep, stage.id);
    }
  }
}

void Orchestrator::Reopen(Context& context, Stage& stage) {
  INLIER_CHECK(IsTerminal(stage.state) && !IsResult(stage.state));
  if (stage.detail().failures != StageFailures()) stage.edit().failures = {};
  stage.SetMessage("");
  stage.Tidy();
  SetStageState(stage, v1::PENDING);
  if (!INLIER_BUG("reopened_stage_not_stored")) CommitStage(context, stage);
}

v1::TrialState Orchestrator::Link(Context& context, Trial& trial, bool reopen_train, bool reopen_evaluate,
                                  std::string& message) {
  Stage& train = stages_.at(trial.train);
  Stage& evaluate = stages_.at(trial.evaluate);
  if (IsResult(evaluate.state)) return evaluate.state;
  if (train.state == v1::DIVERGED) {
    // What did not train has nothing to evaluate.
    if (IsTerminal(evaluate.state)) Reopen(context, evaluate);
    SetStageState(evaluate, v1::DIVERGED);
    CommitStage(context, evaluate);
    return v1::DIVERGED;
  }
  if (IsPruned(trial)) {
    SetPruning(sweeps_.at(trial.sweep), trial, TrialPruningState::kPruned);
    message = train.detail().message;
    CancelIfUnneeded(context, evaluate);
    return v1::CANCELLED;
  }
  for (const auto& [stage, reopen] :
       {std::pair(&train, reopen_train), std::pair(&evaluate, reopen_evaluate)}) {
    if (stage->state != v1::FAILED || reopen) continue;
    message = stage->detail().message;
    CancelIfUnneeded(context, evaluate);
    return v1::FAILED;
  }
  for (Stage* stage : {&train, &evaluate}) {
    if (IsTerminal(stage->state) && stage->state != v1::SUCCEEDED) Reopen(context, *stage);
  }
  if (train.state != v1::SUCCEEDED) Need(train, trial);
  Need(evaluate, trial);
  RefreshReadiness(context, train);
  RefreshReadiness(context, evaluate);
  return train.live() != 0 || evaluate.live() != 0 ? v1::RUNNING : v1::PENDING;
}

void Orchestrator::SetTrialState(Context& context, Trial& trial, v1::TrialState state,
                                 const std::string& message) {
  if (trial.state == state) return;
  INLIER_CHECK(!IsResult(trial.state));
  Sweep& sweep = sweeps_.at(trial.sweep);
  CountTrial(sweep, v1::TrialState{trial.state}, state);
  context.changed.emplace(trial.id, v1::TrialState{trial.state});
  trial.state = state;
  trial.SetMessage(message);
  if (IsResult(state)) trial.labels.reset();
  ++sweep.version;
  if (!IsTerminal(state)) return;
  context.out.log.push_back(absl::StrCat("trial_ended trial=", trial.id.ToString(), " sweep=",
                                         sweep.id.ToString(), " state=", v1::TrialState_Name(state)));
  context.settle.insert(sweep.id);
  if (trial.train) NoLongerNeed(context, stages_.at(trial.train), trial);
  if (trial.evaluate) NoLongerNeed(context, stages_.at(trial.evaluate), trial);
}

void Orchestrator::UpdateTrialsOf(Context& context, Stage& stage) {
  for (const TrialId id : stage.NeedingTrials()) {
    Trial& trial = trials_.at(id);
    const bool running = stages_.at(trial.train).live() != 0 || stages_.at(trial.evaluate).live() != 0;
    SetTrialState(context, trial, running ? v1::RUNNING : v1::PENDING, "");
  }
}

void Orchestrator::StageSucceeded(Context& context, Stage& stage, const Attempt& attempt) {
  SetStageState(stage, v1::SUCCEEDED);
  stage.SetMessage("");
  stage.edit().failures = {};
  const std::vector<TrialId> trials = stage.NeedingTrials();
  if (stage.kind == v1::EVALUATE_STAGE) {
    for (const TrialId id : trials) SetTrialState(context, trials_.at(id), v1::SUCCEEDED, "");
    return;
  }
  const std::optional<Digest> checkpoint = ParseSha256Hex(attempt.final_checkpoint);
  INLIER_CHECK(checkpoint.has_value());
  Trained& trained = trained_[stage.id];
  trained.checkpoint = *checkpoint;
  trained.holder = stage.detail().holder;
  stage.edit().holder = 0;
  stage.ForgetCheckpoint();
  for (const TrialId id : trials) NoLongerNeed(context, stage, trials_.at(id));
  for (const TrialId id : trials) SetTrialState(context, trials_.at(id), v1::PENDING, "");
  if (INLIER_BUG("evaluate_never_ready")) return;
  for (StageId id = stage.first_dependent(); id; id = stages_.at(id).next_dependent())
    RefreshReadiness(context, stages_.at(id));
}

void Orchestrator::StageDiverged(Context& context, Stage& stage) {
  SetStageState(stage, v1::DIVERGED);
  stage.SetMessage("");
  stage.edit().failures = {};
  stage.edit().holder = 0;
  stage.ForgetCheckpoint();
  for (StageId id = stage.first_dependent(); id; id = stages_.at(id).next_dependent()) {
    Stage& evaluate = stages_.at(id);
    if (!evaluate.IsNeeded() || INLIER_BUG("evaluate_survives_diverged_training")) continue;
    ForgetRetry(evaluate);
    SetStageState(evaluate, v1::DIVERGED);
    evaluate.SetMessage("");
    CommitStage(context, evaluate);
  }
  for (const TrialId id : stage.NeedingTrials()) SetTrialState(context, trials_.at(id), v1::DIVERGED, "");
}

void Orchestrator::FailStage(Context& context, Stage& stage, const std::string& message) {
  SetStageState(stage, v1::FAILED);
  stage.SetMessage(message);
  if (!INLIER_BUG("failed_stage_not_stored")) CommitStage(context, stage);
  NoticeOfStage(context, stage, "stage_failed", absl::StrCat("FAILED, ", message), 0);
  for (const TrialId id : stage.NeedingTrials()) SetTrialState(context, trials_.at(id), v1::FAILED, message);
}

void Orchestrator::CancelTrial(Context& context, Trial& trial, const std::string& why) {
  SetTrialState(context, trial, v1::CANCELLED, why);
}

std::string Orchestrator::WhyStopByFailures(const Sweep& sweep) {
  const v1::SweepSpec& spec = sweep.spec;
  const std::uint64_t failed = sweep.Count(v1::FAILED);
  if (spec.stop_after_failures() > 0 && failed >= spec.stop_after_failures()) {
    return absl::StrCat("the sweep was stopped after ", failed,
                        " failed trials (stop_after_failures = ", spec.stop_after_failures(), ")");
  }
  const std::uint64_t ended = failed + sweep.Count(v1::SUCCEEDED) + sweep.Count(v1::DIVERGED);
  if (spec.has_stop_after_failure_ratio() && ended >= kFailureRatioTrialsMin &&
      static_cast<double>(failed) >= spec.stop_after_failure_ratio() * static_cast<double>(ended)) {
    return absl::StrCat("the sweep was stopped after ", failed, " of ", ended,
                        " trials had failed (stop_after_failure_ratio = ", spec.stop_after_failure_ratio(),
                        ")");
  }
  return "";
}

void Orchestrator::StopByFailures(Context& context, Sweep& sweep, const std::string& why) {
  sweep.expander.reset();
  expanding_.erase(sweep.id);
  SetSweepState(context, sweep, v1::STOPPED_BY_FAILURES);
  Notice(context, sweep, "sweep_stopped", why);
  for (const TrialId id : sweep.trials) {
    Trial& trial = trials_.at(id);
    if (trial.state == v1::PENDING) CancelTrial(context, trial, why);
  }
}

void Orchestrator::Settle(Context& context, Sweep& sweep) {
  if (sweep.state != v1::ACTIVE) return;
  if (const std::string why = WhyStopByFailures(sweep); !why.empty()) {
    StopByFailures(context, sweep, why);
  } else if (sweep.Open() == 0 && (sweep.Exhausted() || INLIER_BUG("sweep_complete_too_early")) &&
             !INLIER_BUG("sweep_never_complete")) {
    SetSweepState(context, sweep, v1::COMPLETE);
  }
}

void Orchestrator::SettleSweeps(Context& context) {
  while (!context.settle.empty()) {
    const SweepId sweep = *context.settle.begin();
    context.settle.erase(context.settle.begin());
    Settle(context, sweeps_.at(sweep));
  }
}

void Orchestrator::Finish(Context& context) {
  SettleSweeps(context);
  for (const auto& [id, before] : context.changed) {
    const Trial& trial = trials_.at(id);
    if (!IsTerminal(trial.state) && !IsTerminal(before)) continue;  // Whether it runs, its attempts say.
    if (IsTerminal(before) && trial.state != before && IsTerminal(trial.state)) {
      // It was opened again on the way, and only so may it change.
      context.out.changes.Add(TrialChange{.id = id, .state = v1::PENDING, .message = ""});
    }
    if (IsTerminal(trial.state) && INLIER_BUG("trial_end_not_stored")) continue;
    context.out.changes.Add(TrialChange{.id = id, .state = trial.state, .message = trial.message()});
  }
  context.changed.clear();
  PackEndedSweeps();
}

// An attempt may be charged to a sweep that has ended: it goes on for another.
void Orchestrator::PackEndedSweeps() {
  sweeps_.Pack([this](const Sweep& sweep) { return scheduler_.running(sweep.id) == 0; });
}

}  // namespace inlier
