#include "worker/lease_guard.h"

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
  const Timestamp end = sent->second + ttl;
  // Keep the entry itself: the coordinator may push a second answer to the same sync.
  sent_.erase(sent_.begin(), sent);
  if (end_ && end < *end_) return;
  end_ = end;
  ttl_ = ttl;
}

LeaseGuard::State LeaseGuard::StateAt(Timestamp now) const {
  if (!end_) return State::kIdle;
  if (!holds() && now >= *end_) return State::kOver;
  if (now >= EndingAt()) return State::kEnding;
  return now >= *end_ ? State::kAway : State::kHeld;
}

std::optional<Timestamp> LeaseGuard::NextChange(Timestamp now) const {
  const State state = StateAt(now);
  if (state == State::kAway || (state == State::kHeld && !holds())) return EndingAt();
  if (state == State::kHeld || (state == State::kEnding && !holds())) return *end_;
  return std::nullopt;
}

}  // namespace inlier
