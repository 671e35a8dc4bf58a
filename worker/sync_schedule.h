// When the next sync leaves and which events it carries: the numbers of syncs and events, the heartbeat, and
// how long news wait for more.
//
// Time is an argument; nothing here reads a clock. Thread safety: none; owned by the coordinator client's
// thread.
#ifndef INLIER_WORKER_SYNC_SCHEDULE_H_
#define INLIER_WORKER_SYNC_SCHEDULE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/time.h"
#include "inlier/v1/worker_service.pb.h"
#include "worker/outbox.h"

namespace inlier {

class SyncSchedule {
 public:
  enum class Urgency { kProgress, kPoint, kResult };
  struct Limits {
    std::size_t events_max = 2000;
    std::size_t bytes_max = 4 << 20;
  };

  // A new call: its first sync is due now, with all events that are not acknowledged.
  void OnCallOpened(const Outbox& outbox, Timestamp now);
  void OnCallEnded() { unanswered_.clear(); }
  void Request(std::optional<Urgency> urgency) { urgency_ = std::max(urgency_, urgency); }

  // At the heartbeat, or earlier with news once the last sync was answered.
  Timestamp SendAt(const Outbox& outbox) const;
  // Numbers the sync that leaves now and adds the next events. The heartbeat follows after `period`.
  void Fill(v1::WorkerSync& sync, const Outbox& outbox, const Limits& limits, Timestamp now, Duration period);

  // False for the answer to a sync of an earlier process, or one that a later answer has overtaken.
  bool Expects(std::uint64_t sync_id) const { return sync_id <= sync_id_ && sync_id >= last_answered_; }
  // It is the answer to a sync that reported that the worker ends, not to an earlier one that was still on its way.
  bool KnowsOfTheEnd(const v1::CoordinatorSync& answer) const {
    return first_draining_ > 0 && answer.sync_id() >= first_draining_;
  }
  // The next heartbeat is at most `period` after the last sync. Returns the time from the sync to its answer.
  std::optional<Duration> OnAnswered(const v1::CoordinatorSync& answer, Timestamp now, Duration period);

  // When the oldest unanswered sync was sent.
  std::optional<Timestamp> unanswered_since() const;

 private:
  struct Sent {
    Timestamp at;
    std::uint64_t last_sequence = 0;  // The highest event in it; 0 for none.
  };

  std::optional<Urgency> urgency_;
  std::uint64_t sync_id_ = 0;
  std::uint64_t last_answered_ = 0;
  std::uint64_t first_draining_ = 0;  // The first sync that reported it; 0: none has.
  std::uint64_t sent_through_ = 0;    // Events up to here are acknowledged or in a sync of this call.
  std::map<std::uint64_t, Sent> unanswered_;
  Timestamp heartbeat_at_, resend_at_, last_sent_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_SYNC_SCHEDULE_H_
