#include "coordinator/sweeps/expand.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/status.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/data/data_binding.h"
#include "coordinator/pruning/pruning.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/scheduling/sources.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/transitions.h"
#include "coordinator/sweeps/settle.h"
#include "coordinator/sweeps/start_source.h"
#include "coordinator/sweeps/training_choice.h"
#include "spec/sweep/point_labels.h"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

// The latest of the stages of the specification before the `number`-th; zero: there is none.
StageId PreviousOf(const State& state, const Digest& specification, std::uint32_t number) {
  while (--number > 0) {
    if (const Stage* stage = state.stages.Find(FingerprintOf(specification, number))) return stage->id;
  }
  return StageId();
}

// The stage of `part` with the number and data of `choice`; `train` is zero for a training, `start` what it starts from.
StageId FindOrAddStage(Context& context, v1::StageKind kind, const StagePart& part, std::uint32_t steps,
                       StageId train, StageId start, const TrainingChoice& choice) {
  State& state = context.state;
  const Digest specification = DigestOfHex(part.fingerprint);
  const Digest digest = FingerprintOf(specification, choice.number);
  if (const Stage* known = state.stages.Find(digest)) return known->id;
  const StageId id = state.stages.NextId();
  Stage made;
  made.id = id;
  made.kind = kind;
  made.fingerprint = digest;
  made.edit().spec = part.spec;
  made.steps = steps;
  made.train = train;
  made.start = start;
  made.data = train ? choice.evaluation_data : choice.data;
  const DataId data = made.data;
  if (train) {
    Stage& training = state.stages.at(train);
    training.evaluations.push_back(id);
    ++training.open_evaluations;
  }
  INLIER_CHECK(state.stages.Add(std::move(made)).second);
  ++state.counts.stages[{kind, v1::PENDING}];
  context.out.changes.Add(StageRow{.id = id,
                                   .kind = kind,
                                   .fingerprint = digest,
                                   .train_stage = train,
                                   .steps = steps,
                                   .data = data,
                                   .start_stage = start,
                                   .previous = PreviousOf(state, specification, choice.number),
                                   .spec_json = part.json});
  return id;
}

// `start`, `choice`: of a trial that can run.
void Materialise(Context& context, Sweep& sweep, ExpandedTrial expanded, StageId start,
                 const TrainingChoice& choice) {
  State& state = context.state;
  const TrialId id = state.trials.NextId();
  Trial& trial = state.trials.Add(Trial(id));
  trial.sweep = sweep.id;
  trial.point = expanded.point;
  TrialRow row{.id = id,
               .sweep = sweep.id,
               .point = expanded.point,
               .labels_json = LabelsJson(expanded.labels),
               .spec_json = std::move(expanded.spec_json)};
  trial.labels_json = row.labels_json;
  std::string message;
  if (expanded.problem.ok()) {
    const std::uint32_t steps = expanded.steps;
    trial.train = FindOrAddStage(context, v1::TRAIN_STAGE, *expanded.train, steps, StageId(), start, choice);
    trial.evaluate =
        FindOrAddStage(context, v1::EVALUATE_STAGE, expanded.evaluate, steps, trial.train, StageId(), choice);
    row.train_stage = trial.train;
    row.evaluate_stage = trial.evaluate;
    Stage& train = state.stages.at(trial.train);
    Stage& evaluate = state.stages.at(trial.evaluate);
    if (train.detail().spec.empty() && train.open_evaluations > 0) train.edit().spec = expanded.train->spec;
    // A stage that failed for another sweep is retried for this one; within a sweep its failure is final.
    const Reopens reopens{
        .train = !train.HasSweep(sweep.id), .evaluate = !evaluate.HasSweep(sweep.id), .sources = false};
    RegisterStage(state, train, sweep);
    RegisterStage(state, evaluate, sweep);
    for (const Stage* stage : {&train, &evaluate}) {
      if (const DataId data = stage->data ? ExpectedData(state, *stage) : DataId())
        sweep.bound.of_source.emplace(state.data.SourceOf(data), data);
    }
    trial.state = Link(context, trial, reopens, message);
    // Not one that shares a training or an evaluation with another trial of the sweep.
    trial.known =
        IsResult(trial.state) && reopens.evaluate && (trial.state == v1::SUCCEEDED || reopens.train);
    if (trial.known) ++sweep.known;
  } else {
    trial.state = v1::FAILED;
    message = absl::StrCat("INVALID_SPEC: ", expanded.problem.message());
  }
  trial.SetMessage(message);
  if (IsResult(trial.state)) trial.labels_json.Clear();
  row.state = trial.state;
  row.known = trial.known;
  row.message = message;
  context.out.changes.Add(std::move(row));
  if (trial.state == v1::FAILED) StoreFailure(context, trial);
  if (trial.pruning != TrialPruningState::kNone)
    context.out.changes.Add(TrialPruning{.id = id, .state = trial.pruning});
  sweep.trials.push_back(id);
  if (!sweep.expansion.by_point.empty()) sweep.expansion.by_point.emplace(trial.point, id);
  CountTrial(state, sweep, std::nullopt, trial.state);
  ++sweep.version;
  if (IsTerminal(trial.state)) context.settle.insert(sweep.id);
}

// Gives a trial, whose training starts from another of this coordinator, that training, or a problem.
StageId LinkStart(const State& state, Sweep& sweep, ExpandedTrial& expanded) {
  const absl::StatusOr<StageId> start = FindStart(state, sweep, expanded);
  if (start.ok()) {
    sweep.expansion.expander->SetStart(expanded, HexOf(state.stages.at(*start).fingerprint));
    return *start;
  }
  expanded.problem = start.status();
  expanded.spec_json = ResolvedJson(*expanded.unlinked);
  return StageId();
}

// Makes the grid of a sweep that has none since the last start, to continue at its next point. An error for a grid that this
// program refuses: that of a program before it was less strict.
absl::Status MakeExpander(State& state, Sweep& sweep) {
  ASSIGN_OR_RETURN(SweepGrid grid, SweepGrid::Create(sweep.spec));
  if (grid.is_search()) RETURN_IF_ERROR(grid.Append(sweep.expansion.asked));
  sweep.expansion.points = grid.size();
  sweep.expansion.kept = grid.kept();
  if (!sweep.Exhausted())
    SetExpander(state, sweep, std::make_unique<SweepExpander>(std::move(grid), sweep.expansion.next_point));
  return absl::OkStatus();
}

// The sweep has points left, too few open trials, and does not wait for data.
bool WantsTrials(const State& state, const Sweep& sweep) {
  // Not at every trial that ends, and well before none is left. At a steady rate trials are made in such
  // small steps, which delay no call for long; when few are left, in large ones.
  const std::uint64_t step =
      std::clamp<std::uint64_t>(state.options.expand_ahead / 32, 1, state.options.expand_per_tick);
  if (!state.expanding.contains(sweep.id) || sweep.bound.waits_for ||
      sweep.Count(v1::PENDING) + step > state.options.expand_ahead)
    return false;
  const auto count = [&](v1::TrialState to) -> std::uint64_t {
    const auto at = state.counts.trials.find(to);
    return at == state.counts.trials.end() ? 0 : static_cast<std::uint64_t>(at->second);
  };
  return count(v1::PENDING) + count(v1::RUNNING) < state.options.materialised_trials_max;
}

// Further trials of the sweeps that want some.
void ExpandSweeps(Context& context) {
  Finish(context);  // Finished trials leave their places to others.
  State& state = context.state;
  std::uint64_t budget = state.options.expand_per_tick;
  for (auto at = state.expanding.begin(); at != state.expanding.end() && budget > 0;) {
    Sweep& sweep = state.sweeps.at(*at++);  // Expand may erase it.
    if (!WantsTrials(state, sweep)) continue;
    if (!sweep.expansion.expander) {
      if (const absl::Status made = MakeExpander(state, sweep); !made.ok())
        StopSweep(context, sweep,
                  absl::StrCat("no further trials can be made, edit the sweep: ", made.message()));
      return;  // One grid a tick.
    }
    const std::uint64_t before = sweep.trials.size();
    // At most as many as it has: the answer to the submission is still on its way when the first are made.
    Expand(context, sweep, std::min(budget, std::max<std::uint64_t>(state.options.expand_first, before)));
    budget -= std::min<std::uint64_t>(budget, sweep.trials.size() - before);
  }
}

std::optional<Timestamp> ExpansionDue(const State& state) {
  const auto wants_trials = [&](SweepId id) { return WantsTrials(state, state.sweeps.at(id)); };
  if (std::ranges::none_of(state.expanding, wants_trials)) return std::nullopt;
  return Timestamp{};
}

}  // namespace

v1::TrialState Link(Context& context, Trial& trial, const Reopens& reopens, std::string& message) {
  State& state = context.state;
  Stage& train = state.stages.at(trial.train);
  Stage& evaluate = state.stages.at(trial.evaluate);
  if (IsResult(evaluate.state)) return evaluate.state;
  std::vector<Stage*> sources;
  for (const StageId id : OpenSources(state, train)) sources.push_back(&state.stages.at(id));
  const auto message_of = [&](const Stage& stage, const char* what) {
    return IsSourceFor(stage, trial) ? absl::StrCat(SourceText(state, stage), what, stage.detail().message)
                                     : stage.detail().message;
  };
  for (const Stage* source : sources) {
    if (source->state != v1::DIVERGED || train.state == v1::DIVERGED) continue;
    message = message_of(*source, ", has DIVERGED");
    DivergeWithSource(context, train);
  }
  if (train.state == v1::DIVERGED) {
    // A diverged training has no model to evaluate.
    if (IsTerminal(evaluate.state)) Reopen(context, evaluate);
    SetStageState(state, evaluate, v1::DIVERGED);
    CommitStage(context, evaluate);
    return v1::DIVERGED;
  }
  std::vector<std::pair<Stage*, bool>> decide = {{&train, reopens.train}, {&evaluate, reopens.evaluate}};
  for (Stage* source : sources) decide.emplace_back(source, reopens.sources);
  for (const auto& [stage, reopen] : decide) {
    const bool pruned = stage != &evaluate && IsPruned(state, trial, *stage);
    if (!pruned && (stage->state != v1::FAILED || reopen)) continue;
    if (pruned) SetPruning(state.sweeps.at(trial.sweep), trial, TrialPruningState::kPruned);
    message = message_of(*stage, pruned ? ": " : ", FAILED: ");
    CancelIfUnneeded(context, train);
    CancelIfUnneeded(context, evaluate);
    return pruned ? v1::CANCELLED : v1::FAILED;
  }
  for (const auto& [stage, reopen] : decide) {
    if (IsTerminal(stage->state) && stage->state != v1::SUCCEEDED) Reopen(context, *stage);
  }
  const auto join = [&](Stage& stage) {
    if (AddDependent(state, stage, trial))
      ForEachFeature(&Feature::sweep_joined_stage, context, stage, trial.sweep);
  };
  for (Stage* source : sources) {
    join(*source);
    RefreshReadiness(context, *source);
  }
  if (train.state != v1::SUCCEEDED) join(train);
  join(evaluate);
  RefreshReadiness(context, train);
  RefreshReadiness(context, evaluate);
  return train.live() != 0 || evaluate.live() != 0 ? v1::RUNNING : v1::PENDING;
}

std::uint64_t Expand(Context& context, Sweep& sweep, std::uint64_t limit) {
  State& state = context.state;
  const std::uint64_t room =
      state.options.expand_ahead - std::min(state.options.expand_ahead, sweep.Count(v1::PENDING));
  std::uint64_t known = 0, known_if_unchanged = 0;
  std::optional<std::uint64_t> waits;                     // The first point that waits for data.
  std::unordered_map<std::uint64_t, std::string> likely;  // By such a point: LikelyTraining.
  for (ExpandedTrial& expanded : sweep.expansion.expander->Next(std::min(limit, room), sweep.expansion.ahead,
                                                                state.options.passed_per_tick)) {
    std::optional<TrainingChoice> choice = TrainingChoice();
    StageId start;
    const std::shared_ptr<const v1::TrialSpec> unlinked = expanded.unlinked;  // LinkStart gives it up.
    if (expanded.problem.ok() && expanded.unlinked && !waits) start = LinkStart(state, sweep, expanded);
    // Points after one that waits are made after it, too; but their data are asked for now.
    if (expanded.problem.ok() && expanded.train) choice = ChooseTraining(context, sweep, expanded);
    if (choice && start) {
      expanded.problem = CheckStartModel(state, start, expanded, choice->number);
      if (!expanded.problem.ok()) expanded.spec_json = ResolvedJson(*unlinked);
    }
    if (!choice && !waits) waits = expanded.point;
    if (waits) {
      if (const auto start = likely.find(expanded.start_point.value_or(expanded.point));
          expanded.unlinked && start != likely.end())
        sweep.expansion.expander->SetStart(expanded, start->second);
      if (expanded.train) likely[expanded.point] = LikelyTraining(state, *expanded.train);
      if (HasKnownResult(state, expanded)) ++known_if_unchanged;
      continue;
    }
    Materialise(context, sweep, std::move(expanded), start, *choice);
    if (IsResult(state.trials.at(sweep.trials.back()).state)) ++known;
  }
  if (waits) sweep.expansion.expander->ReturnTo(*waits, sweep.expansion.ahead);
  sweep.expansion.next_point = sweep.expansion.expander->next_point();
  context.out.changes.Add(SweepChange{.id = sweep.id,
                                      .state = std::nullopt,
                                      .next_point = sweep.expansion.next_point,
                                      .at = context.now.wall});
  if (sweep.expansion.expander->exhausted()) {
    SetExpander(state, sweep, nullptr);
    context.settle.insert(sweep.id);
  }
  state.stats.trials_known += known;
  return known + known_if_unchanged;
}

Feature Expansion() { return {.due = ExpansionDue, .act = ExpandSweeps}; }

}  // namespace inlier
