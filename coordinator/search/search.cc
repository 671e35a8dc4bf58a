#include "coordinator/search/search.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"
#include "spec/schema/problems.h"
#include "spec/sweep/search_space.h"

namespace inlier {
namespace {

constexpr int kPointsAtOnceMax = 1000;

absl::Status CheckIsSearch(const Sweep& sweep) {
  if (sweep.spec.sampling().has_optuna()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("sweep ", sweep.id.ToString(), " (", sweep.spec.name(),
                   ") has no sampling.optuna: its points are those of its file, and no sampler adds any"));
}

absl::Status CheckExtension(const Sweep& sweep, const v1::ExtendSweepRequest& request) {
  RETURN_IF_ERROR(CheckIsSearch(sweep));
  const std::string name = absl::StrCat("sweep ", sweep.id.ToString());
  if (sweep.state != v1::ACTIVE)
    return absl::FailedPreconditionError(absl::StrCat(name, " has ended (", v1::SweepState_Name(sweep.state),
                                                      "): it takes no further points"));
  const auto asked = static_cast<std::uint32_t>(sweep.expansion.asked.size());
  if (request.first() != asked && !INLIER_BUG("points_of_a_second_sampler_taken"))
    return absl::FailedPreconditionError(
        absl::StrCat(name, " has ", asked, " points, and the first of these is number ", request.first(),
                     ": another sampler has extended it; let one of the two go on"));
  if (request.points_size() == 0 || request.points_size() > kPointsAtOnceMax)
    return absl::InvalidArgumentError(absl::StrCat("points: ", request.points_size(),
                                                   " are none or too many; give 1 to ", kPointsAtOnceMax));
  for (int i = 0; i < request.points_size(); ++i) {
    const std::uint32_t number = asked + static_cast<std::uint32_t>(i);
    const auto& told = request.points(i).told();
    const auto ahead = [number](std::uint32_t one) { return one >= number; };
    if (std::ranges::any_of(told, ahead) || static_cast<std::uint32_t>(told.size()) > number)
      return absl::InvalidArgumentError(
          absl::StrCat(ItemPath("points", i), ".told: names a point that was not asked for before"));
  }
  return absl::OkStatus();
}

void ExplainSearch(const State&, const Sweep& sweep, Timestamp, v1::Explanation& of) {
  if (!sweep.spec.sampling().has_optuna()) return;
  const int asked = sweep.expansion.asked.size();
  const auto trials = static_cast<int>(sweep.spec.sampling().optuna().trials());
  const std::string counts = absl::StrCat(asked, " of ", trials, " points were asked for");
  if (sweep.state != v1::ACTIVE || asked >= trials) {
    Because(of, counts);
  } else {
    Because(of, counts,
            "; a sampler asks for the others: inlier run and inlier up have one, else inlier optimize ",
            sweep.id.ToString());
  }
}

void DescribeSearch(const Sweep& sweep, Timestamp, v1::SweepStatus& status) {
  if (!sweep.spec.sampling().has_optuna()) return;
  const auto asked = static_cast<std::uint32_t>(sweep.expansion.asked.size());
  const std::uint32_t trials = sweep.spec.sampling().optuna().trials();
  status.set_asked(asked);
  status.set_to_ask(trials - std::min(asked, trials));
}

}  // namespace

absl::StatusOr<v1::ExtendSweepResponse> ExtendSweep(Context& context, const v1::ExtendSweepRequest& request,
                                                    const Caller& caller) {
  State& state = context.state;
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  Sweep& sweep = state.sweeps.at(id);
  RETURN_IF_ERROR(CheckExtension(sweep, request));
  SweepExpansion& expansion = sweep.expansion;
  ASSIGN_OR_RETURN(SweepGrid grid, SweepGrid::Create(sweep.spec));
  RETURN_IF_ERROR(grid.Append(expansion.asked));
  RETURN_IF_ERROR(grid.Append(request.points()));
  for (v1::SearchPoint point : request.points()) {
    WriteOneWay(grid, point.mutable_values());
    context.out.changes.Add(SearchPointRow{.sweep = id,
                                           .number = static_cast<std::uint32_t>(expansion.asked.size()),
                                           .point = point,
                                           .at = context.now.wall});
    *expansion.asked.Add() = std::move(point);
  }
  expansion.kept = grid.kept();
  context.out.changes.Add(SweepChange{.id = id, .at = context.now.wall, .trials = expansion.kept});
  SetExpander(state, sweep, std::make_unique<SweepExpander>(std::move(grid), expansion.next_point));
  ++sweep.version;
  context.Log("sweep_extended sweep=", id.ToString(), " points=", expansion.asked.size());
  v1::ExtendSweepResponse response;
  response.set_asked(static_cast<std::uint32_t>(expansion.asked.size()));
  return response;
}

absl::StatusOr<v1::Search> GetSearch(const State& state, const v1::GetSearchRequest& request,
                                     const std::string& caller) {
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller));
  const Sweep& sweep = state.sweeps.at(id);
  RETURN_IF_ERROR(CheckIsSearch(sweep));
  ASSIGN_OR_RETURN(const SweepGrid grid, SweepGrid::Create(sweep.spec));
  v1::Search search = SearchOf(sweep.spec, grid);
  search.set_sweep_id(id.ToString());
  search.set_name(sweep.spec.name());
  search.set_state(sweep.state);
  const SweepExpansion& expansion = sweep.expansion;
  const auto asked = static_cast<std::uint32_t>(expansion.asked.size());
  search.set_asked(asked);
  const std::uint64_t each = grid.size() / search.sampling().trials();
  const std::uint32_t first = std::min(request.first(), asked);
  for (std::uint32_t number = first; number < asked; ++number) {
    v1::SearchedPoint& point = *search.add_points();
    *point.mutable_point() = expansion.asked[static_cast<int>(number)];
    point.set_made(expansion.next_point >= (number + 1) * each);
  }
  for (const TrialId trial_id : sweep.trials) {
    const Trial& trial = state.trials.at(trial_id);
    const std::uint64_t number = trial.point / each;
    if (number < first || number >= asked) continue;
    v1::SearchedPoint::Trial& shown = *search.mutable_points(static_cast<int>(number - first))->add_trials();
    shown.set_trial_id(trial.id.ToString());
    shown.set_state(trial.state);
    if (trial.pruning == TrialPruningState::kPruned) shown.set_pruned(true);
    if (trial.train) shown.set_train_stage(trial.train.ToString());
  }
  return search;
}

Feature SearchedSweeps() { return {.explain_sweep = ExplainSearch, .describe_sweep = DescribeSearch}; }

}  // namespace inlier
