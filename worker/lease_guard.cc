#include "worker/lease_guard.h"

#include "base/deliberate_bug.h"

namespace inlier {
namespace {

// A worker that cannot reach its coordinator for long keeps only the times of its latest syncs.
constexpr size_t kUnansweredMax = 1024;

}  // namespace

void LeaseGuard::OnSent(std::uint64_t sync_id, Timestamp now) {
  sent_[sync_id] = now;
  if (sent_.size() > kUnansweredMax) sent_.erase(sent_.begin());
}

void LeaseGuard::OnAnswered(std::uint64_t sync_id, Duration ttl) {
  const auto sent = sent_.find(sync_id);
  if (sent == sent_.end()) return;
  const Timestamp end =
      sent->second + ttl + (INLIER_BUG("worker_keeps_lease_too_long") ? ttl / 4 : Duration(0));
  // Keep the entry itself: the coordinator may push a second answer to the same sync.
  sent_.erase(sent_.begin(), sent);
  if (end_ && end < *end_) return;
  end_ = end;
  ttl_ = ttl;
}

LeaseGuard::State LeaseGuard::StateAt(Timestamp now) const {
  if (!end_) return State::kIdle;
  if (now >= *end_) return State::kExpired;
  return now >= Warning() ? State::kEnding : State::kHeld;
}

std::optional<Timestamp> LeaseGuard::NextChange(Timestamp now) const {
  switch (StateAt(now)) {
    case State::kHeld:
      return Warning();
    case State::kEnding:
      return *end_;
    case State::kIdle:
    case State::kExpired:
      break;
  }
  return std::nullopt;
}

}  // namespace inlier
