// When this worker must stop its attempts by itself, because the coordinator may already have given them
// away.
//
// The coordinator may lease an attempt again once the TTL and a margin have passed since it received this
// worker's last sync. The worker cannot know when that was, but it was not before the worker sent it: so
// counting from the time of sending is safe. Time is an argument; nothing here reads a clock.
//
// Thread safety: none; owned by the coordinator client's thread.
#ifndef INLIER_WORKER_LEASE_GUARD_H_
#define INLIER_WORKER_LEASE_GUARD_H_

#include <cstdint>
#include <map>
#include <optional>

#include "base/time.h"

namespace inlier {

class LeaseGuard {
 public:
  enum class State {
    kIdle,     // No lease is known: nothing to fence.
    kHeld,     // Within the lease.
    kEnding,   // The last twentieth of it: children are asked to end, so that they can write a checkpoint.
    kExpired,  // Over: children must not live any longer.
  };

  // Sync `sync_id` is being sent. Ids grow.
  void OnSent(std::uint64_t sync_id, Timestamp now);

  // The coordinator has answered `sync_id`: leases hold for `ttl` from when it was sent. Answers that are out
  // of order never shorten what a later one gave.
  void OnAnswered(std::uint64_t sync_id, Duration ttl);

  State StateAt(Timestamp now) const;

  // When StateAt changes next; nullopt when it does not by itself.
  std::optional<Timestamp> NextChange(Timestamp now) const;

  // End of the lease; nullopt before the first answer.
  std::optional<Timestamp> end() const { return end_; }
  Duration ttl() const { return ttl_; }

 private:
  Timestamp Warning() const { return *end_ - ttl_ / 20; }

  std::map<std::uint64_t, Timestamp> sent_;  // Unanswered; at most kUnansweredMax of them.
  std::optional<Timestamp> end_;
  Duration ttl_{0};
};

}  // namespace inlier

#endif  // INLIER_WORKER_LEASE_GUARD_H_
