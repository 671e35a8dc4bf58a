#include "worker/sync_schedule.h"

#include <algorithm>
#include <utility>

namespace inlier {
namespace {

using std::chrono::milliseconds;

// Events that were sent and not committed are sent again after this long.
constexpr Duration kResendAfter = milliseconds(500);

// How long a sync may be delayed, so that more events go with it.
Duration MaxWait(SyncSchedule::Urgency urgency) {
  using enum SyncSchedule::Urgency;
  return milliseconds(urgency == kProgress ? 500 : urgency == kPoint ? 100 : 2);
}

}  // namespace

void SyncSchedule::OnCallOpened(const Outbox& outbox, Timestamp now) {
  unanswered_.clear();
  sent_through_ = outbox.acknowledged();
  heartbeat_at_ = resend_at_ = now;
}

Timestamp SyncSchedule::SendAt(const Outbox& outbox) const {
  std::optional<Urgency> urgency = urgency_;
  if (outbox.last_sequence() > sent_through_ && outbox.size() > 0) {
    const Urgency events = outbox.HasResultAfter(sent_through_) ? Urgency::kResult : Urgency::kPoint;
    urgency = std::max(urgency, std::optional(events));
  }
  if (!urgency || !unanswered_.empty()) return heartbeat_at_;
  return std::min(heartbeat_at_, std::max(resend_at_, last_sent_ + MaxWait(*urgency)));
}

void SyncSchedule::Fill(v1::WorkerSync& sync, const Outbox& outbox, const Limits& limits, Timestamp now,
                        Duration period) {
  sync.set_sync_id(++sync_id_);
  if (sync.draining() && first_draining_ == 0) first_draining_ = sync_id_;
  sync.set_events_after(sent_through_);
  Sent sent{now, 0};
  const std::uint64_t published = outbox.last_sequence();
  for (v1::NumberedEvent& event : outbox.Pending(sent_through_, limits.events_max, limits.bytes_max)) {
    sent.last_sequence = event.sequence();
    *sync.add_events() = std::move(event);
  }
  // Events above the limits go with the next sync. Without any, the numbers of thinned events are done, too.
  sent_through_ = sent.last_sequence > 0 ? sent.last_sequence : std::max(sent_through_, published);
  sync.set_events_thinned(outbox.thinned());
  urgency_.reset();
  last_sent_ = now;
  heartbeat_at_ = now + period;
  unanswered_[sync_id_] = sent;
}

std::optional<Duration> SyncSchedule::OnAnswered(const v1::CoordinatorSync& answer, Timestamp now,
                                                 Duration period) {
  last_answered_ = answer.sync_id();
  heartbeat_at_ = std::min(heartbeat_at_, last_sent_ + period);
  std::optional<Duration> round_trip;
  std::uint64_t carried = 0;
  while (!unanswered_.empty() && unanswered_.begin()->first <= answer.sync_id()) {
    const auto& [id, sent] = *unanswered_.begin();
    if (id == answer.sync_id()) round_trip = now - sent.at;
    carried = std::max(carried, sent.last_sequence);
    unanswered_.erase(unanswered_.begin());
  }
  if (carried > answer.acknowledged_sequence()) {
    // Not taken: the coordinator's queue or disk is full now. They are sent again a little later.
    sent_through_ = answer.acknowledged_sequence();
    resend_at_ = now + kResendAfter;
  }
  return round_trip;
}

std::optional<Timestamp> SyncSchedule::unanswered_since() const {
  if (unanswered_.empty()) return std::nullopt;
  return unanswered_.begin()->second.at;
}

}  // namespace inlier
