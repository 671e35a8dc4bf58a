#include "coordinator/sweeps/retry.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"
#include "coordinator/sweeps/expand.h"
#include "coordinator/sweeps/links.h"

namespace inlier {
namespace {

bool RetryTrial(Context& context, Trial& trial, bool pruned_too) {
  State& state = context.state;
  if (trial.withdrawn) return false;
  if (trial.state != v1::FAILED && trial.state != v1::CANCELLED) return false;
  if (!trial.train) return false;  // An invalid spec can never run.
  const TrialPruningState before = trial.pruning;
  if (before == TrialPruningState::kPruned) {
    if (!pruned_too) return false;
    SetPruning(state, state.sweeps.at(trial.sweep), trial, TrialPruningState::kKept);
  }
  SetTrialState(context, trial, v1::PENDING, "");
  std::string message;
  const v1::TrialState to = Link(context, trial, /*reopen_train=*/true, /*reopen_evaluate=*/true, message);
  if (trial.pruning != before) context.out.changes.Add(TrialPruning{.id = trial.id, .state = trial.pruning});
  SetTrialState(context, trial, to, message);
  return true;
}

}  // namespace

absl::StatusOr<v1::RetryResponse> Retry(Context& context, const v1::RetryRequest& request) {
  State& state = context.state;
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Retry needs a sweep or a trial, one of the two");
  }
  v1::RetryResponse response;
  std::uint64_t retried = 0;
  SweepId sweep_id;
  if (request.has_trial()) {
    ASSIGN_OR_RETURN(const TrialId id, FindTrial(state, request.trial()));
    if (state.trials.at(id).withdrawn) {
      return absl::FailedPreconditionError(
          absl::StrCat("trial ", id.ToString(),
                       " was withdrawn by an edit of its sweep; bring its values back with another edit"));
    }
    if (RetryTrial(context, state.trials.at(id), /*pruned_too=*/true)) ++retried;
    sweep_id = state.trials.at(id).sweep;
  } else {
    ASSIGN_OR_RETURN(sweep_id, FindSweep(state, request.sweep()));
    for (const TrialId id : state.sweeps.at(sweep_id).trials) {
      if (RetryTrial(context, state.trials.at(id), /*pruned_too=*/false)) ++retried;
    }
  }
  Sweep& sweep = state.sweeps.at(sweep_id);
  // Points that were never made into trials, because the sweep was cancelled or stopped before, are retried
  // too.
  const bool unfinished = request.has_sweep() && sweep.state != v1::ACTIVE && !sweep.Exhausted();
  if (unfinished) retried += sweep.Total() - sweep.trials.size();
  // One trial of a sweep that ended before all its points were trials runs alone: the others stay unmade.
  if (sweep.state != v1::ACTIVE && retried > 0 &&
      (request.has_sweep() || sweep.Exhausted() || INLIER_BUG("retried_trial_reopens_sweep"))) {
    SetSweepState(context, sweep, v1::ACTIVE);
    Notice(context, sweep, "sweep_retried", absl::StrCat("a retry was asked for: ", retried, " trials"));
    if (unfinished) RETURN_IF_ERROR(MakeExpander(state, sweep));
    context.settle.insert(sweep.id);
  }
  response.set_retried(retried);
  return response;
}

}  // namespace inlier
