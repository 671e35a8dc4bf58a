#include "coordinator/scheduling/readiness.h"

#include <set>

#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/sources.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

std::uint32_t HolderOf(const State& state, const Stage& train) {
  const auto trained = state.models.trained.find(train.id);
  return trained == state.models.trained.end() ? train.detail().holder : trained->second.holder;
}

// `stage` has become ready.
void WaitForHolder(Context& context, const Stage& stage) {
  State& state = context.state;
  if (const auto before = state.holder_waits.by_stage.find(stage.id);
      before != state.holder_waits.by_stage.end()) {
    state.holder_waits.due.erase({before->second.second, stage.id});
    state.holder_waits.by_stage.erase(before);
  }
  std::uint32_t holder =
      HolderOf(state, stage.kind == v1::EVALUATE_STAGE ? state.stages.at(stage.train) : stage);
  if (holder == 0 && stage.start) holder = HolderOf(state, state.stages.at(stage.start));
  if (holder == 0 || state.options.locality_wait <= Duration::zero()) return;
  const WorkerEntry* worker = state.workers.FindByNumber(holder);
  if (worker == nullptr || !worker->keeps_artifacts || !worker->TakesWork()) return;
  const Timestamp until = context.now.at + state.options.locality_wait;
  state.holder_waits.by_stage.emplace(stage.id, std::pair(holder, until));
  state.holder_waits.due.emplace(until, stage.id);
}

void EndHolderWaits(Context& context) {
  State& state = context.state;
  auto& due = state.holder_waits.due;
  while (!due.empty() && due.begin()->first <= context.now.at) {
    const StageId id = due.extract(due.begin()).value().second;
    state.holder_waits.by_stage.erase(id);
    if (Stage& stage = state.stages.at(id); stage.ready) RefreshReadiness(context, stage);
  }
}

}  // namespace

void RefreshReadiness(Context& context, Stage& stage) {
  State& state = context.state;
  const bool ready = IsReady(state, stage);
  if (ready && !stage.ready) WaitForHolder(context, stage);
  stage.ready = ready;
  if (ready && state.data.AnyDiffers()) state.data_waits.lacking_due = Timestamp{};
  for (const auto& [sweep, first_trial] : stage.Dependents()) {
    if (ready) {
      state.ready.AddReady(sweep, stage.id, stage.kind, first_trial,
                           ShapeOf(state, state.sweeps.at(sweep), stage), context.now.at);
    } else {
      state.ready.RemoveReady(sweep, stage.id);
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
    for (const StageId id : OpenSources(state, state.stages.at(trial.train))) stages.insert(id);
  }
  for (const StageId id : stages) {
    if (Stage& stage = state.stages.at(id); stage.ready) RefreshReadiness(context, stage);
  }
}

Feature HolderWaitEnds() {
  return {.due = [](const State& state) { return FirstOf(state.holder_waits.due); }, .act = EndHolderWaits};
}

}  // namespace inlier
