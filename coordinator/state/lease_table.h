// Which worker may run which attempt, on which slot, and until when.
//
// A lease is a promise with an end: until then its holder alone may run the attempt. A worker's leases end
// together, because any sync of the worker renews all of them. The table has no clock and no timer; every
// call takes the time, and the owner arms one timer for NextDeadline(). Leases are not stored: after a
// restart each live attempt is granted a new one with a full term (Orchestrator::Recover).
//
// Invariants: (1) a token has at most one lease; (2) a slot of a worker has at most one lease; (3) an ended
// lease never comes back.
#ifndef INLIER_COORDINATOR_STATE_LEASE_TABLE_H_
#define INLIER_COORDINATOR_STATE_LEASE_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace inlier {

struct Lease {
  std::uint64_t token = 0;
  std::string worker;  // Its incarnation.
  std::uint32_t slot = 0;
  Timestamp ends;
};

class LeaseTable {
 public:
  // `term`: from a worker's last sign of life to the end of its leases: their TTL and the coordinator's margin.
  explicit LeaseTable(Duration term) : term_(term) {}

  // Lets `worker` run the attempt `token` on `slot` until now + term.
  // REQUIRES: the token has no lease; the slot of that worker has none.
  void Grant(std::uint64_t token, const std::string& worker, std::uint32_t slot, Timestamp now);

  // Moves the end of every lease of `worker` to now + term, never to an earlier time. Returns their number.
  int Renew(const std::string& worker, Timestamp now);

  // Ends the lease of `token`. REQUIRES: there is one.
  void End(std::uint64_t token);

  // Removes and returns every lease that has ended by `now`, earliest first, then by token.
  std::vector<Lease> Expire(Timestamp now);

  // The lease of `token`; nullptr when it has none. Valid until the next call that changes the table.
  const Lease* Find(std::uint64_t token) const;

  // Tokens that `worker` holds, by slot.
  std::vector<std::uint64_t> HeldBy(const std::string& worker) const;

  std::optional<Timestamp> NextDeadline() const;
  int size() const { return static_cast<int>(leases_.size()); }

 private:
  void Erase(std::map<std::uint64_t, Lease>::iterator at);

  Duration term_;
  std::map<std::uint64_t, Lease> leases_;
  // Worker -> slot -> token. Never walked.
  std::unordered_map<std::string, std::map<std::uint32_t, std::uint64_t>> by_worker_;
  std::set<std::pair<Timestamp, std::uint64_t>> by_end_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_LEASE_TABLE_H_
