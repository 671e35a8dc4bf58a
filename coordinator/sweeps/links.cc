#include "coordinator/sweeps/links.h"

#include <string>

#include "coordinator/attempts/pruning.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/transitions.h"

namespace inlier {

v1::TrialState Link(Context& context, Trial& trial, bool reopen_train, bool reopen_evaluate,
                    std::string& message) {
  State& state = context.state;
  Stage& train = state.stages.at(trial.train);
  Stage& evaluate = state.stages.at(trial.evaluate);
  if (IsResult(evaluate.state)) return evaluate.state;
  if (train.state == v1::DIVERGED) {
    // What did not train has nothing to evaluate.
    if (IsTerminal(evaluate.state)) Reopen(context, evaluate);
    SetStageState(state, evaluate, v1::DIVERGED);
    CommitStage(context, evaluate);
    return v1::DIVERGED;
  }
  if (IsPruned(state, trial)) {
    SetPruning(state, state.sweeps.at(trial.sweep), trial, TrialPruningState::kPruned);
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
  if (train.state != v1::SUCCEEDED) AddDependent(state, train, trial);
  AddDependent(state, evaluate, trial);
  RefreshReadiness(context, train);
  RefreshReadiness(context, evaluate);
  return train.live() != 0 || evaluate.live() != 0 ? v1::RUNNING : v1::PENDING;
}

}  // namespace inlier
