#include "coordinator/services/release_gate.h"

#include <algorithm>

#include "base/deliberate_bug.h"

namespace inlier {

Orchestrator::SyncLimits SyncLimitsUnder(const CommitterHealth& health) {
  Orchestrator::SyncLimits limits;
  limits.take_events = health.status.ok() && health.accepts_bulk;
  limits.grant_leases = health.status.ok();
  return limits;
}

std::uint64_t ReleaseGate::Decided(const Effects& effects, const std::string* worker, Reply reply) {
  std::uint64_t number = 0;
  std::uint64_t bulk = 0;
  if (!effects.changes.empty()) {
    number = ++numbers_;
    if (effects.changes.lane == Lane::kControl) {
      control_decided_ = number;
      if (!INLIER_BUG("changes_of_worker_not_awaited"))
        for (const std::string& touched : effects.workers) touched_[touched] = number;
    } else {
      open_bulk_[number];
      if (worker != nullptr) last_bulk_[*worker] = number;
      bulk = number;
    }
  }
  std::uint64_t control = INLIER_BUG("people_not_made_to_wait") ? control_committed_ : control_decided_;
  if (worker != nullptr) {
    const auto touched = touched_.find(*worker);
    control = touched == touched_.end() ? 0 : touched->second;
    const auto last = last_bulk_.find(*worker);
    if (last != last_bulk_.end() && !INLIER_BUG("earlier_bulk_not_awaited")) bulk = last->second;
  }
  if (reply) Wait(bulk, control, {std::move(reply), worker == nullptr});
  return number;
}

void ReleaseGate::Wait(std::uint64_t bulk, std::uint64_t control, Waiting waiting) {
  if (!closed_.ok()) return waiting.reply(closed_);
  const auto open = open_bulk_.find(bulk);
  if (open != open_bulk_.end()) {
    open->second.emplace_back(control, std::move(waiting));
  } else if (control <= control_committed_) {
    waiting.reply(absl::OkStatus());
  } else if (waiting.user && !store_waits_.ok()) {
    waiting.reply(store_waits_);
  } else {
    waiting_.emplace(control, std::move(waiting));
  }
}

void ReleaseGate::SetStoreWaits(const absl::Status& reason) {
  store_waits_ = reason;
  if (reason.ok()) return;
  // Replies to workers are kept; a reply may ask the gate again.
  for (auto& [control, waiting] : std::exchange(waiting_, {})) Wait(0, control, std::move(waiting));
}

void ReleaseGate::Settled(std::uint64_t number, const absl::Status& status) {
  if (!closed_.ok()) return;
  if (!status.ok()) {
    Close(status);
  } else if (const auto bulk = open_bulk_.extract(number)) {
    if (open_bulk_.empty()) last_bulk_.clear();
    for (auto& [control, waiting] : bulk.mapped()) Wait(0, control, std::move(waiting));
  } else {
    control_committed_ = std::max(control_committed_, number);
    if (control_committed_ == control_decided_) touched_.clear();
    while (!waiting_.empty() && waiting_.begin()->first <= control_committed_)
      waiting_.extract(waiting_.begin()).mapped().reply(absl::OkStatus());
  }
}

bool ReleaseGate::Close(const absl::Status& reason) {
  if (!closed_.ok()) return false;
  closed_ = reason;
  for (auto& [number, waiting] : std::exchange(open_bulk_, {})) {
    for (auto& [control, one] : waiting) one.reply(reason);
  }
  for (auto& [control, waiting] : std::exchange(waiting_, {})) waiting.reply(reason);
  return true;
}

}  // namespace inlier
