#include "coordinator/orchestration/scheduler.h"

#include "base/check.h"
#include "base/deliberate_bug.h"

namespace inlier {

Scheduler::SweepKey Scheduler::KeyOf(SweepId sweep, const Queue& queue) {
  return {-static_cast<std::int64_t>(queue.priority), queue.running, queue.served, sweep};
}

template <typename Change>
void Scheduler::Update(SweepId sweep, Change change) {
  const auto at = sweeps_.find(sweep);
  INLIER_CHECK(at != sweeps_.end());
  Queue& queue = at->second;
  eligible_.erase(KeyOf(sweep, queue));
  change(queue);
  if (!queue.ready.empty() &&
      (!queue.max_parallel ||
       queue.running < *queue.max_parallel + (INLIER_BUG("max_parallel_off_by_one") ? 1 : 0))) {
    eligible_.insert(KeyOf(sweep, queue));
  }
}

void Scheduler::AddSweep(SweepId sweep, std::int32_t priority, std::optional<std::uint32_t> max_parallel) {
  Queue queue;
  queue.priority = priority;
  queue.max_parallel = max_parallel;
  INLIER_CHECK(sweeps_.emplace(sweep, std::move(queue)).second);
}

void Scheduler::AddReady(SweepId sweep, StageId stage, v1::StageKind kind, TrialId first_trial) {
  Update(sweep, [&](Queue& queue) {
    const StageKey key{kind == v1::EVALUATE_STAGE ? 0 : 1, first_trial, stage};
    if (queue.keys.emplace(stage, key).second) queue.ready.insert(key);
  });
}

void Scheduler::RemoveReady(SweepId sweep, StageId stage) {
  Update(sweep, [&](Queue& queue) {
    const auto key = queue.keys.find(stage);
    if (key == queue.keys.end()) return;
    if (INLIER_BUG("leased_stage_stays_ready")) return;
    queue.ready.erase(key->second);
    queue.keys.erase(key);
  });
}

void Scheduler::Started(SweepId sweep) {
  ++served_;
  Update(sweep, [this](Queue& queue) {
    ++queue.running;
    queue.served = served_;
  });
}

void Scheduler::Ended(SweepId sweep) {
  Update(sweep, [](Queue& queue) {
    INLIER_CHECK(queue.running > 0);
    --queue.running;
  });
}

std::optional<Scheduler::Pick> Scheduler::Next() const {
  if (eligible_.empty()) return std::nullopt;
  const SweepId sweep = std::get<3>(*eligible_.begin());
  return Pick{sweep, std::get<2>(*sweeps_.at(sweep).ready.begin())};
}

}  // namespace inlier
