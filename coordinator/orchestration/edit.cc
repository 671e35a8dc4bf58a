// Orchestrator: a sweep becomes another one while it runs. What is in both stays, with its results; what has
// left is withdrawn; what is new is made as it comes near dispatch.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/orchestration/orchestrator.h"

namespace inlier {
namespace {

// What decides the points of a sweep.
v1::SweepSpec GridOf(const v1::SweepSpec& spec) {
  v1::SweepSpec grid;
  grid.set_name(spec.name());
  *grid.mutable_base() = spec.base();
  *grid.mutable_axes() = spec.axes();
  *grid.mutable_exclude() = spec.exclude();
  return grid;
}

}  // namespace

void Orchestrator::Withdraw(Context& context, Sweep& sweep, Trial& trial) {
  if (!IsTerminal(trial.state) && !INLIER_BUG("withdrawn_trial_runs_on"))
    SetTrialState(context, trial, v1::CANCELLED, "withdrawn by an edit of the sweep");
  --sweep.CountOf(trial.state);
  --trial_counts_[trial.state];
  trial.withdrawn = true;
  ++sweep.withdrawn;
  if (trial.pruning == TrialPruningState::kPruned) ++sweep.withdrawn_pruned;
}

void Orchestrator::ForgetStages(Sweep& sweep, const std::vector<TrialId>& withdrawn) {
  std::unordered_set<std::int64_t> used;
  for (const TrialId id : sweep.trials) {
    used.insert(trials_.at(id).train.value());
    used.insert(trials_.at(id).evaluate.value());
  }
  for (const TrialId trial : withdrawn) {
    for (const StageId id : {trials_.at(trial).train, trials_.at(trial).evaluate}) {
      if (!id || used.contains(id.value())) continue;
      Stage& stage = stages_.at(id);
      if (!stage.RemoveSweep(sweep.id)) continue;  // A trial before it had the same stage.
      stage.Tidy();
      StageTally& tally = TallyOf(sweep, stage);
      --tally.total;
      tally.weight_total -= stage.Weight();
    }
  }
}

std::uint64_t Orchestrator::MoveTrials(Context& context, Sweep& sweep, const SweepEdit& edit) {
  std::vector<ShortId<TrialId>> kept;
  std::vector<TrialId> gone;
  std::vector<std::pair<TrialId, std::uint64_t>> moved;
  sweep.ahead.clear();
  for (const TrialId id : sweep.trials) {
    Trial& trial = trials_.at(id);
    const std::optional<std::uint64_t> point = edit.NewIndex(trial.point);
    if (!point || (INLIER_BUG("finished_trial_withdrawn_by_an_edit") && IsResult(trial.state))) {
      gone.push_back(id);
      continue;
    }
    kept.push_back(id);
    sweep.ahead.insert(*point);
    if (*point == trial.point || INLIER_BUG("edited_trial_keeps_its_point")) continue;
    moved.emplace_back(id, *point);
    trial.point = *point;
  }
  // All leave their places before any takes one.
  std::vector<Change>& changes = context.out.changes.changes;
  changes.reserve(changes.size() + 3 * gone.size() + 2 * moved.size());
  for (const TrialId id : gone) context.out.changes.Add(TrialMoved{.id = id, .point = std::nullopt});
  for (const auto& [id, point] : moved) context.out.changes.Add(TrialMoved{.id = id, .point = std::nullopt});
  for (const auto& [id, point] : moved) context.out.changes.Add(TrialMoved{.id = id, .point = point});
  std::uint64_t stopped = 0;
  for (const TrialId id : gone) {
    if (!IsTerminal(trials_.at(id).state)) ++stopped;
    Withdraw(context, sweep, trials_.at(id));
  }
  sweep.trials = std::move(kept);
  ForgetStages(sweep, gone);
  sweep.next_point = 0;
  return stopped;
}

absl::StatusOr<v1::EditSweepResponse> Orchestrator::Edit(const v1::EditSweepRequest& request, Moment now,
                                                         Effects& effects, std::optional<SweepGrid> grid) {
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(request.sweep()));
  Sweep& sweep = sweeps_.at(id);
  if (request.has_revision() && request.revision() != sweep.revision &&
      !INLIER_BUG("edit_of_an_old_revision_accepted")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sweep ", id.ToString(), " has been edited since: it is at revision ", sweep.revision,
        ", the edit was made from ", request.revision(), "; look at it again and repeat the edit"));
  }
  v1::SweepSpec spec = request.spec();
  spec.clear_scales();  // Other sizes are for who reads the file.
  const v1::SweepSpec before = sweep.WholeSpec();
  const bool same_grid = google::protobuf::util::MessageDifferencer::Equals(GridOf(before), GridOf(spec));
  std::optional<SweepEdit> edit;
  const std::uint64_t trials_before = sweep.Total();
  std::uint64_t trials = trials_before;
  if (!same_grid) {
    std::optional<SweepGrid> from;
    if (sweep.expander) {
      from = sweep.expander->grid();
    } else {
      ASSIGN_OR_RETURN(from, SweepGrid::Create(before));
    }
    if (!grid) {
      ASSIGN_OR_RETURN(grid, SweepGrid::Create(spec));
    }
    ASSIGN_OR_RETURN(edit, SweepEdit::Create(before, *std::move(from), spec, *std::move(grid)));
    trials = edit->to().kept().value_or(edit->to().size());
    if (trials == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sweep ", spec.name(), " would have no trials: `exclude` leaves out every point of its axes"));
    }
    if (trials > trials_before && trials > request.max_trials()) {
      return absl::FailedPreconditionError(
          absl::StrCat("sweep ", spec.name(), " would have ", trials, " trials, more than the limit of ",
                       request.max_trials(),
                       "; make the grid narrower, or edit it with --yes (max_trials in EditSweepRequest)"));
    }
  }

  Context context{now, effects};
  v1::EditSweepResponse response;
  response.set_trials(trials);
  response.set_kept(trials);
  const ResourceRequest asked = sweep.request;
  sweep.SetSpec(spec);
  ++sweep.revision;
  if (edit) {
    expanding_.erase(id);
    sweep.expander.reset();
    response.set_stopped(edit->only_appends() ? 0 : MoveTrials(context, sweep, *edit));
    const std::uint64_t common = edit->common().value_or(sweep.trials.size());
    response.set_kept(common);
    response.set_added(trials - std::min(trials, common));
    response.set_withdrawn(trials_before - std::min(trials_before, common));
    sweep.points = edit->to().size();
    sweep.kept = edit->to().kept();
    if (sweep.kept && *sweep.kept == sweep.trials.size()) {
      sweep.next_point = sweep.points;  // Every point has its trial.
      sweep.ahead.clear();
    }
    const bool goes_on = sweep.state == v1::ACTIVE || sweep.state == v1::COMPLETE;
    if (goes_on && !sweep.Exhausted()) {
      sweep.expander = std::make_unique<SweepExpander>(edit->to(), sweep.next_point);
      expanding_.insert(id);
    }
  }
  response.set_revision(sweep.revision);
  context.out.changes.Add(SweepEdited{.id = id,
                                      .spec = std::move(spec),
                                      .points = sweep.points,
                                      .trials = trials,
                                      .next_point = sweep.next_point,
                                      .revision = sweep.revision});
  scheduler_.SetRules(id, RulesOf(sweep));
  if (asked != sweep.request) ReshapeStages(context, sweep);
  if (sweep.state == v1::COMPLETE && sweep.expander) SetSweepState(context, sweep, v1::ACTIVE);
  const std::string what = absl::StrCat(response.added(), " trials added, ", response.kept(), " kept, ",
                                        response.withdrawn(), " withdrawn");
  Notice(context, sweep, "sweep_edited", absl::StrCat("the sweep was edited: ", what));
  effects.log.push_back(
      absl::StrCat("sweep_edited sweep=", id.ToString(), " revision=", sweep.revision, " ", what));
  context.settle.insert(id);
  Finish(context);
  return response;
}

absl::StatusOr<v1::EditSweepResponse> Orchestrator::OnEdit(const v1::EditSweepRequest& request, Moment now,
                                                           Effects& effects, std::optional<SweepGrid> grid) {
  return Once<v1::EditSweepResponse>("EditSweep", request, now, effects,
                                     [&] { return Edit(request, now, effects, std::move(grid)); });
}

}  // namespace inlier
