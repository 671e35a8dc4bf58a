#include "coordinator/sweeps/edit.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"
#include "coordinator/sweeps/start_source.h"
#include "google/protobuf/util/message_differencer.h"
#include "spec/program/import_source.h"
#include "spec/sweep/sweep_edit.h"

namespace inlier {
namespace {

// The parts of a specification that decide the sweep's points and results.
v1::SweepSpec GridOf(const v1::SweepSpec& spec) {
  v1::SweepSpec grid;
  grid.set_name(spec.name());
  *grid.mutable_base() = spec.base();
  if (spec.has_program()) *grid.mutable_program() = spec.program();
  if (spec.has_program()) grid.mutable_program()->clear_source();
  *grid.mutable_axes() = spec.axes();
  *grid.mutable_exclude() = spec.exclude();
  *grid.mutable_tied() = spec.tied();
  if (spec.has_sampling()) *grid.mutable_sampling() = spec.sampling();
  if (spec.has_pruning()) *grid.mutable_pruning() = spec.pruning();
  return grid;
}

void Withdraw(Context& context, Sweep& sweep, Trial& trial) {
  if (!IsTerminal(trial.state))
    SetTrialState(context, trial, v1::CANCELLED, "withdrawn by an edit of the sweep");
  --sweep.CountOf(trial.state);
  --context.state.counts.trials[trial.state];
  trial.withdrawn = true;
  ++sweep.withdrawn;
  if (trial.known) --sweep.known;
  if (trial.pruning == TrialPruningState::kPruned) ++sweep.pruning.withdrawn;
}

void ForgetStages(State& state, Sweep& sweep, const std::vector<TrialId>& withdrawn) {
  std::unordered_set<std::int64_t> used;
  for (const TrialId id : sweep.trials) {
    used.insert(state.trials.at(id).train.value());
    used.insert(state.trials.at(id).evaluate.value());
  }
  for (const TrialId trial : withdrawn) {
    for (const StageId id : {state.trials.at(trial).train, state.trials.at(trial).evaluate}) {
      if (!id || used.contains(id.value())) continue;
      Stage& stage = state.stages.at(id);
      UnregisterStage(stage, sweep);
      stage.Tidy();
    }
  }
}

std::uint64_t MoveTrials(Context& context, Sweep& sweep, const SweepEdit& edit) {
  State& state = context.state;
  std::vector<TrialId> kept;
  std::vector<TrialId> gone;
  std::vector<std::pair<TrialId, std::uint64_t>> moved;
  sweep.expansion.ahead.clear();
  for (const TrialId id : sweep.trials) {
    Trial& trial = state.trials.at(id);
    const std::optional<std::uint64_t> point = edit.NewIndex(trial.point);
    if (!point || (INLIER_BUG("finished_trial_withdrawn_by_an_edit") && IsResult(trial.state))) {
      gone.push_back(id);
      continue;
    }
    kept.push_back(id);
    sweep.expansion.ahead.insert(*point);
    if (*point == trial.point || INLIER_BUG("edited_trial_keeps_its_point")) continue;
    moved.emplace_back(id, *point);
    trial.point = *point;
  }
  // All leave their places before any takes one.
  for (const TrialId id : gone) context.out.changes.Add(TrialMoved{.id = id, .point = std::nullopt});
  for (const auto& [id, point] : moved) context.out.changes.Add(TrialMoved{.id = id, .point = std::nullopt});
  for (const auto& [id, point] : moved) context.out.changes.Add(TrialMoved{.id = id, .point = point});
  std::uint64_t stopped = 0;
  for (const TrialId id : gone) {
    if (!IsTerminal(state.trials.at(id).state)) ++stopped;
    Withdraw(context, sweep, state.trials.at(id));
  }
  sweep.trials = std::move(kept);
  sweep.expansion.by_point.clear();
  ForgetStages(state, sweep, gone);
  sweep.expansion.next_point = 0;
  return stopped;
}

// From the sweep's grid to that of `spec`, or `grid` where it is made already; nullopt when the grid stays as it is.
absl::StatusOr<std::optional<SweepEdit>> GridEdit(const State& state, const Sweep& sweep,
                                                  const v1::SweepSpec& spec, std::uint64_t trials_max,
                                                  std::optional<SweepGrid> grid) {
  const v1::SweepSpec before = sweep.spec;
  if (google::protobuf::util::MessageDifferencer::Equals(GridOf(before), GridOf(spec)))
    return std::optional<SweepEdit>();
  std::optional<SweepGrid> from;
  if (sweep.expansion.expander) {
    from = sweep.expansion.expander->grid();
  } else {
    ASSIGN_OR_RETURN(from, SweepGrid::Create(before));
    if (from->is_search()) RETURN_IF_ERROR(from->Append(sweep.expansion.asked));
  }
  if (!grid) {
    ASSIGN_OR_RETURN(grid, SweepGrid::Create(spec));
  }
  if (grid->is_search()) RETURN_IF_ERROR(grid->Append(sweep.expansion.asked));
  ASSIGN_OR_RETURN(SweepEdit edit, SweepEdit::Create(before, *std::move(from), spec, *std::move(grid)));
  RETURN_IF_ERROR(CheckStarts(state, edit.to()));
  const std::uint64_t trials = edit.to().kept();
  if (trials > sweep.Total() && trials > trials_max) {
    return absl::FailedPreconditionError(
        absl::StrCat("sweep ", spec.name(), " would have ", trials, " trials, more than the limit of ",
                     trials_max, "; make the grid narrower, or edit it with --yes (in Python max_trials)"));
  }
  return edit;
}

// Gives the sweep its new grid, and expands the points that have no trial yet.
void ApplyGrid(Context& context, Sweep& sweep, const SweepEdit& edit, std::uint64_t trials_before,
               v1::EditSweepResponse& response) {
  State& state = context.state;
  const std::uint64_t trials = response.trials();
  SetExpander(state, sweep, nullptr);
  response.set_stopped(edit.only_appends() ? 0 : MoveTrials(context, sweep, edit));
  const std::uint64_t common = edit.common().value_or(sweep.trials.size());
  response.set_kept(common);
  response.set_added(trials - std::min(trials, common));
  response.set_withdrawn(trials_before - std::min(trials_before, common));
  sweep.expansion.points = edit.to().size();
  sweep.expansion.kept = edit.to().kept();
  if (sweep.expansion.kept == sweep.trials.size()) {
    sweep.expansion.next_point = sweep.expansion.points;  // Every point has its trial.
    sweep.expansion.ahead.clear();
  }
  const bool open = sweep.state == v1::ACTIVE || sweep.state == v1::COMPLETE;
  if (open && !sweep.Exhausted())
    SetExpander(state, sweep, std::make_unique<SweepExpander>(edit.to(), sweep.expansion.next_point));
}

}  // namespace

absl::StatusOr<v1::EditSweepResponse> EditSweep(Context& context, const v1::EditSweepRequest& request,
                                                std::optional<SweepGrid> grid, const Caller& caller) {
  State& state = context.state;
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  Sweep& sweep = state.sweeps.at(id);
  for (const v1::SweepSpec* spec : {&std::as_const(sweep.spec), &request.spec()})
    RETURN_IF_ERROR(CheckNotImported(*spec, absl::StrCat(id.ToString(), " (", sweep.spec.name(), ")")));
  if (request.has_revision() && request.revision() != sweep.revision &&
      !INLIER_BUG("edit_of_an_old_revision_accepted")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sweep ", id.ToString(), " has been edited since: it is at revision ", sweep.revision,
        ", the edit was made from ", request.revision(), "; look at it again and repeat the edit"));
  }
  RETURN_IF_ERROR(CheckCallerLimits(state, caller, request.spec(), &sweep.spec));
  v1::SweepSpec spec = request.spec();
  spec.clear_scales();  // Other sizes are for the reader of the file.
  ASSIGN_OR_RETURN(const std::optional<SweepEdit> edit,
                   GridEdit(state, sweep, spec, request.max_trials(), std::move(grid)));
  const std::uint64_t trials_before = sweep.Total();
  const std::uint64_t trials = edit ? edit->to().kept() : trials_before;

  v1::EditSweepResponse response;
  response.set_trials(trials);
  response.set_kept(trials);
  const ResourceRequest previous = sweep.request;
  const v1::LimitsSpec limits_before = sweep.spec.limits();
  sweep.SetSpec(spec);
  ++sweep.revision;
  sweep.bound.since = state.next_token;
  if (edit) ApplyGrid(context, sweep, *edit, trials_before, response);
  response.set_revision(sweep.revision);
  context.out.changes.Add(SweepEdited{.id = id,
                                      .spec = std::move(spec),
                                      .points = sweep.expansion.points,
                                      .trials = trials,
                                      .next_point = sweep.expansion.next_point,
                                      .revision = sweep.revision});
  state.ready.SetRules(id, RulesOf(state, sweep));
  if (previous != sweep.request) ReshapeStages(context, sweep);
  if (sweep.state == v1::COMPLETE && sweep.expansion.expander) SetSweepState(context, sweep, v1::ACTIVE);
  if (!google::protobuf::util::MessageDifferencer::Equals(limits_before, sweep.spec.limits()))
    ForEachFeature(&Feature::limits_changed, context, sweep);
  ForEachFeature(&Feature::sweep_changed, context, sweep);
  const std::string what = absl::StrCat(response.added(), " trials added, ", response.kept(), " kept, ",
                                        response.withdrawn(), " withdrawn");
  Notice(context, sweep, "sweep_edited", absl::StrCat("the sweep was edited: ", what));
  context.Log("sweep_edited sweep=", id.ToString(), " revision=", sweep.revision, " ", what);
  context.settle.insert(id);
  return response;
}

}  // namespace inlier
