#include "coordinator/scheduling/readiness.h"

#include <set>

#include "coordinator/scheduling/locality.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/state/transitions.h"

namespace inlier {

void RefreshReadiness(Context& context, Stage& stage) {
  State& state = context.state;
  const bool ready = IsReady(state, stage);
  if (ready && !stage.ready) WaitForHolder(context, stage);
  stage.ready = ready;
  for (const auto& [sweep, first_trial] : stage.Dependents()) {
    if (ready) {
      state.scheduler.AddReady(sweep, stage.id, stage.kind, first_trial,
                               ShapeOf(state, state.sweeps.at(sweep), stage), context.now.at);
    } else {
      state.scheduler.RemoveReady(sweep, stage.id);
    }
  }
}

void ReshapeStages(Context& context, Sweep& sweep) {
  State& state = context.state;
  std::set<StageId> stages;
  for (const TrialId id : sweep.trials) {
    const Trial& trial = state.trials.at(id);
    if (IsTerminal(trial.state)) continue;
    stages.insert(trial.train);
    stages.insert(trial.evaluate);
  }
  for (const StageId id : stages) {
    if (Stage& stage = state.stages.at(id); stage.ready) RefreshReadiness(context, stage);
  }
}

void EndHolderWaits(Context& context) {
  State& state = context.state;
  while (!state.holder_waits.due.empty() && state.holder_waits.due.begin()->first <= context.now.at) {
    const StageId id = state.holder_waits.due.begin()->second;
    state.holder_waits.due.erase(state.holder_waits.due.begin());
    state.holder_waits.by_stage.erase(id);
    if (Stage& stage = state.stages.at(id); stage.ready) RefreshReadiness(context, stage);
  }
}

}  // namespace inlier
