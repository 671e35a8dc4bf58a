#include "coordinator/state/transitions.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "coordinator/state/sweeps/sweep_expander.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::size_t kNoticesKept = 200;

}  // namespace

ReadyRules RulesOf(const State& state, const Sweep& sweep) {
  ReadyRules rules;
  rules.priority = sweep.spec.priority();
  if (sweep.spec.max_parallel() > 0) rules.max_parallel = sweep.spec.max_parallel();
  rules.weight = sweep.spec.weight();
  rules.group = sweep.spec.group();
  rules.paused = sweep.paused;
  rules.preempts = sweep.spec.preempts();
  rules.owner = sweep.owner;
  const v1::CallerLimits* limits = state.options.LimitsOf(sweep.owner);
  if (limits != nullptr && limits->has_max_parallel()) rules.owner_max_parallel = limits->max_parallel();
  rules.owner_has_budget = limits != nullptr && limits->has_gpu_hours();
  return rules;
}

void Touch(State& state, const Stage& stage) {
  for (const Dependent& dependent : stage.Dependents()) ++state.sweeps.at(dependent.sweep).version;
}

void NoteInterruption(State& state, const Stage& stage) {
  if (stage.state == v1::PENDING && stage.steps > 0 && stage.detail().resume_step() > 0) {
    state.interrupted.insert(stage.id);
  } else {
    state.interrupted.erase(stage.id);
  }
}

void SetStageState(State& state, Stage& stage, v1::TrialState to) {
  const v1::StageKind kind = stage.kind;
  --state.counts.stages[{kind, StageState{stage.state}}];
  ++state.counts.stages[{kind, to}];
  const bool had_result = IsResult(stage.state);
  stage.state = to;
  NoteInterruption(state, stage);
  if (!IsResult(to) || had_result) return;
  for (const SweepId sweep : stage.sweeps) ++state.sweeps.at(sweep).TallyOf(stage).done;
  Stage& train = kind == v1::TRAIN_STAGE ? stage : state.stages.at(stage.train);
  if (kind == v1::EVALUATE_STAGE) {
    stage.ForgetSpec();
    --train.open_evaluations;
  }
  if (IsResult(train.state) && train.open_evaluations == 0) train.ForgetSpec();
}

void CountTrial(State& state, Sweep& sweep, std::optional<v1::TrialState> from, v1::TrialState to) {
  if (from) {
    --sweep.CountOf(*from);
    --state.counts.trials[*from];
  }
  ++sweep.CountOf(to);
  ++state.counts.trials[to];
}

bool AddDependent(State& state, Stage& stage, Trial& trial) {
  if (!stage.AddDependent(trial.sweep, trial.id)) return false;
  if (!stage.HasSweep(trial.sweep)) return true;
  StageTally& tally = state.sweeps.at(trial.sweep).TallyOf(stage);
  ++tally.needed;
  tally.weight_needed += stage.Weight();
  return true;
}

void ForgetRetry(State& state, Stage& stage) {
  if (!stage.detail().not_before) return;
  state.deadlines.retries.erase({*stage.detail().not_before, stage.id});
  stage.edit().not_before.reset();
}

void RegisterStage(State& state, Stage& stage, Sweep& sweep) {
  if (stage.HasSweep(sweep.id)) return;
  stage.sweeps.push_back(sweep.id);
  StageTally& tally = sweep.TallyOf(stage);
  ++tally.total;
  if (IsResult(stage.state)) ++tally.done;
  tally.weight_total += stage.Weight();
  if (!stage.IsNeededBy(sweep.id)) return;
  ++tally.needed;  // By a trial whose training starts from it.
  tally.weight_needed += stage.Weight();
}

void UnregisterStage(Stage& stage, Sweep& sweep) {
  if (!stage.RemoveSweep(sweep.id)) return;
  StageTally& tally = sweep.TallyOf(stage);
  --tally.total;
  if (IsResult(stage.state)) --tally.done;
  tally.weight_total -= stage.Weight();
  if (!stage.IsNeededBy(sweep.id)) return;
  --tally.needed;
  tally.weight_needed -= stage.Weight();
}

void Notice(Context& context, Sweep& sweep, const std::string& kind, const std::string& text,
            EventRow about) {
  sweep.notice_log.latest.push_back(text);
  if (sweep.notice_log.latest.size() > kNoticesKept)
    sweep.notice_log.latest.erase(sweep.notice_log.latest.begin());
  ++sweep.notice_log.last;
  ++sweep.version;
  about.notice = sweep.notice_log.last;
  about.at = context.now.wall;
  about.kind = kind;
  about.sweep = sweep.id;
  about.message = text;
  context.out.changes.Add(std::move(about));
}

void NoticeOfStage(Context& context, const Stage& stage, const std::string& kind, const std::string& text,
                   Token token) {
  State& state = context.state;
  const char* what = stage.kind == v1::TRAIN_STAGE ? "train" : "evaluate";
  for (const auto& [sweep, first_trial] : stage.Dependents()) {
    const Trial& trial = state.trials.at(first_trial);
    const std::string labels = LabelsText(LabelsFromJson(std::string(trial.labels_json)));
    const std::string where =
        labels.empty() ? trial.id.ToString() : absl::StrCat(trial.id.ToString(), " (", labels, ")");
    EventRow about;
    about.trial = trial.id;
    about.stage = stage.id;
    about.token = token;
    Notice(context, state.sweeps.at(sweep), kind, absl::StrCat(text, " [", what, " ", where, "]"),
           std::move(about));
  }
}

void CommitStage(Context& context, const Stage& stage) {
  context.out.changes.Add(StageChange{.id = stage.id,
                                      .state = stage.state,
                                      .failures = stage.detail().failures,
                                      .ran_ms = stage.detail().ran_ms,
                                      .message = stage.detail().message});
}

void SetExpander(State& state, Sweep& sweep, std::unique_ptr<SweepExpander> expander) {
  if (expander == nullptr)
    state.expanding.erase(sweep.id);
  else
    state.expanding.insert(sweep.id);
  sweep.expansion.expander = std::move(expander);
  sweep.bound.waits_for = DataId();
  state.data_waits.sweeps.erase(sweep.id);
}

void SetSweepState(Context& context, Sweep& sweep, v1::SweepState to) {
  State& state = context.state;
  if (sweep.paused)
    state.counts.paused_sweeps += (to == v1::ACTIVE ? 1 : 0) - (sweep.state == v1::ACTIVE ? 1 : 0);
  --state.counts.sweeps[sweep.state];
  ++state.counts.sweeps[to];
  sweep.state = to;
  ++sweep.version;
  if (to == v1::ACTIVE) {
    sweep.ended.reset();
    state.active.insert(sweep.id);
  } else {
    sweep.ended = context.now.wall;
    state.active.erase(sweep.id);
    context.out.changes.Add(EventRow{.at = context.now.wall,
                                     .kind = "sweep_ended",
                                     .sweep = sweep.id,
                                     .message = v1::SweepState_Name(to)});
  }
  context.out.changes.Add(
      SweepChange{.id = sweep.id, .state = to, .next_point = std::nullopt, .at = context.now.wall});
  context.Log("sweep_state sweep=", sweep.id.ToString(), " state=", v1::SweepState_Name(to));
}

void NoteProgress(Context& context, Attempt& attempt) {
  State& state = context.state;
  state.deadlines.by_progress.erase({attempt.times.progressed, attempt.token});
  attempt.times.progressed = context.now.at;
  state.deadlines.by_progress.emplace(attempt.times.progressed, attempt.token);
}

void CommitWorker(Context& context, const WorkerEntry& worker) {
  WorkerRow row{.incarnation = worker.incarnation,
                .name = worker.name,
                .host = worker.host,
                .version = worker.version,
                .slots = static_cast<std::uint32_t>(worker.slots.size()),
                .devices = {},
                .draining = worker.unavailable.draining,
                .connected = worker.connected,
                .last_seen = worker.seen.wall,
                .held = worker.unavailable.held,
                .memory_mib = worker.resources.memory_mib(),
                .used = worker.used};
  const bool knows_memory = row.memory_mib > 0 || !worker.resources.gpus().empty();
  for (const v1::Slot& slot : worker.slots) {
    row.devices.push_back(slot.device());
    if (knows_memory) row.device_memory_mib.push_back(worker.resources.gpu_memory_mib(slot.index()));
  }
  context.out.changes.Add(std::move(row));
  context.out.workers.insert(worker.incarnation);
}

void SetPruning(Sweep& sweep, Trial& trial, TrialPruningState to) {
  const auto counts_of = [&sweep](TrialPruningState of) {
    return of == TrialPruningState::kPruned ? &sweep.pruning.pruned
           : of == TrialPruningState::kKept ? &sweep.pruning.kept
                                            : nullptr;
  };
  if (auto* counts = counts_of(trial.pruning); counts != nullptr && --counts->at(trial.train) == 0)
    counts->erase(trial.train);
  trial.pruning = to;
  if (auto* counts = counts_of(to)) ++(*counts)[trial.train];
}

bool IsReady(const State& state, const Stage& stage) {
  if (stage.state != v1::PENDING || !stage.IsNeeded() || stage.detail().not_before) return false;
  if (stage.kind == v1::TRAIN_STAGE) {
    return !stage.start || state.stages.at(stage.start).state == v1::SUCCEEDED ||
           INLIER_BUG("training_leased_before_its_start");
  }
  return state.stages.at(stage.train).state == v1::SUCCEEDED;
}

void UpdateTrialsOf(Context& context, Stage& stage) {
  State& state = context.state;
  for (const TrialId id : stage.DependentTrials()) {
    Trial& trial = state.trials.at(id);
    const bool running =
        state.stages.at(trial.train).live() != 0 || state.stages.at(trial.evaluate).live() != 0;
    MarkTrial(context, trial, running ? v1::RUNNING : v1::PENDING, "");
  }
}

void StoreFailure(Context& context, const Trial& trial) {
  context.out.changes.Add(EventRow{.at = context.now.wall,
                                   .kind = "trial_failed",
                                   .sweep = trial.sweep,
                                   .trial = trial.id,
                                   .message = trial.message()});
}

bool MarkTrial(Context& context, Trial& trial, v1::TrialState to, const std::string& message) {
  State& state = context.state;
  if (trial.state == to) return false;
  INLIER_CHECK(!IsResult(trial.state));
  Sweep& sweep = state.sweeps.at(trial.sweep);
  CountTrial(state, sweep, v1::TrialState{trial.state}, to);
  context.changed.emplace(trial.id, v1::TrialState{trial.state});
  trial.state = to;
  trial.SetMessage(message);
  if (IsResult(to)) trial.labels_json.Clear();
  if (to == v1::FAILED) StoreFailure(context, trial);
  ++sweep.version;
  return true;
}

}  // namespace inlier
