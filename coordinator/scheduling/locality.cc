#include "coordinator/scheduling/locality.h"

namespace inlier {
namespace {

std::uint32_t HolderOf(const State& state, const Stage& train) {
  const auto trained = state.trained.find(train.id);
  return trained == state.trained.end() ? train.detail().holder : trained->second.holder;
}

}  // namespace

void WaitForHolder(Context& context, const Stage& stage) {
  State& state = context.state;
  if (const auto before = state.holder_waits.by_stage.find(stage.id);
      before != state.holder_waits.by_stage.end()) {
    state.holder_waits.due.erase({before->second.second, stage.id});
    state.holder_waits.by_stage.erase(before);
  }
  const std::uint32_t holder =
      HolderOf(state, stage.kind == v1::EVALUATE_STAGE ? state.stages.at(stage.train) : stage);
  if (holder == 0 || state.options.locality_wait <= Duration::zero()) return;
  const WorkerEntry* worker = state.workers.FindByNumber(holder);
  if (worker == nullptr || !worker->connected || !worker->keeps_artifacts || !worker->TakesWork()) return;
  const Timestamp until = context.now.at + state.options.locality_wait;
  state.holder_waits.by_stage.emplace(stage.id, std::pair(holder, until));
  state.holder_waits.due.emplace(until, stage.id);
}

}  // namespace inlier
