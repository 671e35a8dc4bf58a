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
      OpenBulk& open = open_bulk_[number];
      if (worker != nullptr) {
        open.worker = *worker;
        last_bulk_[*worker] = number;
      }
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
  if (INLIER_BUG("reply_released_when_decided")) bulk = control = 0;
  Replies leave;
  if (reply) Wait(bulk, control, std::move(reply), leave);
  Run(leave);
  return number;
}

void ReleaseGate::AfterAll(Reply reply) {
  Replies leave;
  Wait(0, control_decided_, std::move(reply), leave);
  Run(leave);
}

void ReleaseGate::Wait(std::uint64_t bulk, std::uint64_t control, Reply reply, Replies& leave) {
  if (!closed_.ok()) return leave.push_back(std::move(reply));
  const auto open = open_bulk_.find(bulk);
  if (open != open_bulk_.end()) {
    open->second.waiting.push_back({control, std::move(reply)});
  } else if (control <= control_committed_) {
    leave.push_back(std::move(reply));
  } else {
    waiting_.emplace(control, std::move(reply));
  }
}

void ReleaseGate::Settled(std::uint64_t number, const absl::Status& status) {
  if (!closed_.ok()) return;
  Replies leave;
  if (!status.ok()) {
    CloseFor(status, leave);
  } else if (open_bulk_.contains(number)) {
    BulkSettled(number, leave);
  } else {
    ControlSettled(number, leave);
  }
  Run(leave);
}

void ReleaseGate::BulkSettled(std::uint64_t number, Replies& leave) {
  const auto open = open_bulk_.find(number);
  OpenBulk settled = std::move(open->second);
  open_bulk_.erase(open);
  const auto last = last_bulk_.find(settled.worker);
  if (last != last_bulk_.end() && last->second == number) last_bulk_.erase(last);
  for (AfterBulk& after : settled.waiting) Wait(0, after.control, std::move(after.reply), leave);
}

void ReleaseGate::ControlSettled(std::uint64_t number, Replies& leave) {
  control_committed_ = std::max(control_committed_, number);
  while (!waiting_.empty() && waiting_.begin()->first <= control_committed_) {
    leave.push_back(std::move(waiting_.begin()->second));
    waiting_.erase(waiting_.begin());
  }
  if (control_committed_ == control_decided_ || INLIER_BUG("touched_forgotten_too_early")) touched_.clear();
}

bool ReleaseGate::Close(const absl::Status& reason) {
  if (!closed_.ok()) return false;
  Replies leave;
  CloseFor(reason, leave);
  Run(leave);
  return true;
}

void ReleaseGate::CloseFor(const absl::Status& reason, Replies& leave) {
  closed_ = reason;
  for (auto& [number, open] : open_bulk_) {
    for (AfterBulk& after : open.waiting) leave.push_back(std::move(after.reply));
  }
  for (auto& [number, reply] : waiting_) leave.push_back(std::move(reply));
  open_bulk_.clear();
  waiting_.clear();
}

void ReleaseGate::Run(const Replies& leave) const {
  const absl::Status status = closed_;  // A reply may close the gate for those after this list.
  for (const Reply& reply : leave) reply(status);
}

}  // namespace inlier
