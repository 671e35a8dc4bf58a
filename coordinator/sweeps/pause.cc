#include "coordinator/sweeps/pause.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "coordinator/scheduling/preemption.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

void SetPaused(Context& context, Sweep& sweep, bool paused) {
  State& state = context.state;
  sweep.paused = paused;
  if (sweep.state == v1::ACTIVE) state.counts.paused_sweeps += paused ? 1 : -1;
  state.scheduler.SetRules(sweep.id, RulesOf(sweep));
  if (!INLIER_BUG("pause_not_stored"))
    context.out.changes.Add(SweepChange{.id = sweep.id,
                                        .state = std::nullopt,
                                        .next_point = std::nullopt,
                                        .at = context.now.wall,
                                        .paused = paused});
  context.out.log.push_back(
      absl::StrCat("sweep_", paused ? "paused" : "resumed", " sweep=", sweep.id.ToString()));
  Notice(context, sweep, paused ? "sweep_paused" : "sweep_resumed",
         paused ? "the sweep is paused: nothing new of it is started" : "the sweep goes on");
}

}  // namespace

absl::StatusOr<v1::PauseSweepResponse> PauseSweep(Context& context, const v1::PauseSweepRequest& request) {
  State& state = context.state;
  absl::StatusOr<SweepId> id = FindSweep(state, request.sweep());
  if (!id.ok()) return id.status();
  Sweep& sweep = state.sweeps.at(*id);
  if (sweep.state != v1::ACTIVE) {
    return absl::FailedPreconditionError(absl::StrCat("sweep ", id->ToString(), " has ended (",
                                                      v1::SweepState_Name(sweep.state),
                                                      "): there is nothing to pause"));
  }
  v1::PauseSweepResponse response;
  response.set_changed(!sweep.paused);
  if (!sweep.paused) SetPaused(context, sweep, true);
  for (auto& [token, attempt] : state.attempts) {
    const Stage& stage = state.stages.at(attempt.stage);
    if (!stage.IsNeededBy(*id)) continue;
    const auto dependents = stage.Dependents();
    const bool needed_elsewhere =
        std::any_of(dependents.begin(), dependents.end(),
                    [&](const Dependent& dependent) { return !state.sweeps.at(dependent.sweep).paused; });
    if (request.now() && !needed_elsewhere) {
      Yield(context, attempt, absl::StrCat("sweep ", id->ToString(), " is paused"));
      response.set_stopping(response.stopping() + 1);
    } else {
      response.set_running(response.running() + 1);
    }
  }
  return response;
}

absl::StatusOr<v1::ResumeSweepResponse> ResumeSweep(Context& context, const v1::ResumeSweepRequest& request) {
  State& state = context.state;
  absl::StatusOr<SweepId> id = FindSweep(state, request.sweep());
  if (!id.ok()) return id.status();
  Sweep& sweep = state.sweeps.at(*id);
  v1::ResumeSweepResponse response;
  response.set_changed(sweep.paused);
  if (sweep.paused) SetPaused(context, sweep, false);
  return response;
}

}  // namespace inlier
