// Orchestrator: where checkpoints are. Where workers keep their artifacts apart, a stage that needs a
// checkpoint waits a little for the worker that wrote it: an evaluation for the one that trained, a training
// that goes on for the one it ran on. When the time is over, or when that worker takes no work, it goes to
// whoever is free. What is known of it is not stored: after a restart nothing waits.
#include <utility>

#include "coordinator/orchestration/orchestrator.h"

namespace inlier {

std::uint32_t Orchestrator::HolderOf(const Stage& train) const {
  const Trained* trained = trained_.Find(train.id);
  return trained == nullptr ? train.detail().holder : trained->holder;
}

void Orchestrator::WaitForHolder(Context& context, const Stage& stage) {
  if (const auto before = holder_waits_.find(stage.id); before != holder_waits_.end()) {
    holder_waits_due_.erase({before->second.second, stage.id});
    holder_waits_.erase(before);
  }
  const std::uint32_t holder = HolderOf(stage.kind == v1::EVALUATE_STAGE ? stages_.at(stage.train()) : stage);
  if (holder == 0 || options_.locality_wait <= Duration::zero()) return;
  const WorkerEntry* worker = workers_.FindByNumber(holder);
  if (worker == nullptr || !worker->connected || !worker->keeps_artifacts || !worker->TakesWork()) return;
  const Timestamp until = context.now.at + options_.locality_wait;
  holder_waits_.emplace(stage.id, std::pair(holder, until));
  holder_waits_due_.emplace(until, stage.id);
}

void Orchestrator::EndHolderWaits(Context& context) {
  while (!holder_waits_due_.empty() && holder_waits_due_.begin()->first <= context.now.at) {
    const StageId id = holder_waits_due_.begin()->second;
    holder_waits_due_.erase(holder_waits_due_.begin());
    holder_waits_.erase(id);
    if (Stage& stage = stages_.at(id); stage.ready) RefreshReadiness(context, stage);
  }
}

}  // namespace inlier
