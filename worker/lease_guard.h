// The rules for attempts after the coordinator's last answer: start and run them within the lease, run them
// on while the coordinator is away, and end them after the hold.
//
// The coordinator leases a stage again once the TTL and a margin have passed since it received this worker's
// last sync. The worker does not know when that was, but it was not before the worker sent the sync: counting
// from the time of sending is safe. After the lease another attempt of the stage may run elsewhere; the token
// then keeps what this one reports out of the database, so it may run on.
//
// Time is an argument; nothing here reads a clock. Thread safety: none; owned by the coordinator client's
// thread.
#ifndef INLIER_WORKER_LEASE_GUARD_H_
#define INLIER_WORKER_LEASE_GUARD_H_

#include <cstdint>
#include <map>
#include <optional>

#include "base/time.h"

namespace inlier {

class LeaseGuard {
 public:
  // `hold`: how long attempts run on after the lease. Zero: no attempt outlives the lease.
  explicit LeaseGuard(Duration hold) : hold_(hold) {}

  // With a hold: kHeld, kAway from the end of the lease, kEnding from the end of the hold.
  // Without: kHeld, kEnding in the last twentieth of the lease, kOver from its end.
  enum class State {
    kIdle,    // No lease is known.
    kHeld,    // Within the lease.
    kAway,    // Attempts run on; none is started.
    kEnding,  // Attempts are asked to end, so that they can write a checkpoint.
    kOver,    // Attempts are killed.
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
  bool holds() const { return hold_ > Duration::zero(); }
  // When attempts are asked to end. REQUIRES: a lease is known.
  Timestamp EndingAt() const { return holds() ? *end_ + hold_ : *end_ - ttl_ / 20; }

  const Duration hold_;
  std::map<std::uint64_t, Timestamp> sent_;  // Unanswered; at most kUnansweredMax of them.
  std::optional<Timestamp> end_;
  Duration ttl_{0};
};

}  // namespace inlier

#endif  // INLIER_WORKER_LEASE_GUARD_H_
