#include "coordinator/sweeps/cancel.h"

#include <string>

#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"

namespace inlier {

void CancelTrial(Context& context, Trial& trial, const std::string& why) {
  SetTrialState(context, trial, v1::CANCELLED, why);
}

absl::StatusOr<v1::CancelResponse> Cancel(Context& context, const v1::CancelRequest& request) {
  State& state = context.state;
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Cancel needs a sweep or a trial, one of the two");
  }
  v1::CancelResponse response;
  if (request.has_trial()) {
    ASSIGN_OR_RETURN(const TrialId id, FindTrial(state, request.trial()));
    Trial& trial = state.trials.at(id);
    if (!IsTerminal(trial.state) || INLIER_BUG("terminal_state_overwritten")) {
      CancelTrial(context, trial, "cancelled");
      response.set_cancelled(1);
    }
    return response;
  }
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep()));
  Sweep& sweep = state.sweeps.at(id);
  std::uint64_t cancelled = 0;
  if (sweep.state == v1::ACTIVE) {
    cancelled = sweep.Total() - sweep.trials.size();
    sweep.expander.reset();
    state.expanding.erase(id);
    SetSweepState(context, sweep, v1::SWEEP_CANCELLED);
    Notice(context, sweep, "sweep_cancelled", "the sweep was cancelled");
  }
  for (const TrialId trial_id : sweep.trials) {
    Trial& trial = state.trials.at(trial_id);
    if (IsTerminal(trial.state)) continue;
    CancelTrial(context, trial, "the sweep was cancelled");
    ++cancelled;
  }
  response.set_cancelled(cancelled);
  return response;
}

}  // namespace inlier
