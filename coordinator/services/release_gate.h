// When a reply may leave: not before what it tells of is durable.
//
// A call decides changes, which are committed later, in batches; its reply waits here meanwhile.
//  (1) Replies to people leave when all control changes decided so far are committed.
//  (2) The reply to a worker leaves when all changes that its own syncs made, and all those that touched its
//  attempts, are committed. Its own include bulk of earlier syncs: the reply acknowledges their events.
// A pure rule, run by the shell and by the simulation: no thread, no clock, no socket.
//
// Thread safety: any thread; decisions are told in their order. Replies run on the thread of the call that
// lets them go, without a lock, and may call the gate.
#ifndef INLIER_COORDINATOR_SERVICES_RELEASE_GATE_H_
#define INLIER_COORDINATOR_SERVICES_RELEASE_GATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/orchestration/orchestrator.h"
#include "coordinator/store/committer.h"

namespace inlier {

// How much of a sync to take while the store is as `health` says: without space leases are still renewed, but
// no events are taken and nothing is granted.
Orchestrator::SyncLimits SyncLimitsUnder(const CommitterHealth& health);

class ReleaseGate {
 public:
  // OK: what it tells is durable; else why that will never be so.
  using Reply = std::function<void(absl::Status)>;

  // A call decided `effects`; `worker` made it (nullptr: a person, or time). `reply` may be empty; it runs at
  // once, within this call, when there is nothing to wait for. Returns the number under which the caller
  // commits the changes and tells Settled; 0 when there are none. Numbers grow.
  std::uint64_t Decided(const Effects& effects, const std::string* worker, Reply reply);

  // Runs `reply` when all control changes decided so far are committed.
  void AfterAll(Reply reply);

  // The batch of that number is durable, and every control batch before it, or of a bulk batch those of its
  // worker; or it never will be, which closes the gate. REQUIRES: a number that Decided gave.
  void Settled(std::uint64_t number, const absl::Status& status);

  // Batches that Decided numbered and that have not settled.
  std::uint64_t unsettled() const;

  // Every reply that waits, and all later ones, get `reason`. Only the first reason counts: whether this is
  // it.
  bool Close(const absl::Status& reason);
  // OK while open.
  absl::Status closed() const;

 private:
  struct Leaving {
    Reply reply;
    absl::Status status;
  };
  using Replies = std::vector<Leaving>;

  // Of all below: REQUIRES the lock; what may leave is added to `leave`, for Run without it.
  // `reply` leaves when `bulk` (0: none) and all control batches up to `control` have settled.
  void Wait(std::uint64_t bulk, std::uint64_t control, Reply reply, Replies& leave);
  void BulkSettled(std::uint64_t number, Replies& leave);
  void ControlSettled(std::uint64_t number, Replies& leave);
  bool CloseFor(const absl::Status& reason, Replies& leave);

  static void Run(const Replies& leave);

  struct AfterBulk {
    std::uint64_t control = 0;
    Reply reply;
  };
  struct OpenBulk {
    std::string worker;
    std::vector<AfterBulk> waiting;
  };

  mutable std::mutex mutex_;
  std::uint64_t numbers_ = 0;                                 // The last one given.
  std::uint64_t settled_ = 0;                                 // How many have.
  std::uint64_t control_decided_ = 0;                         // Number of the last control batch.
  std::uint64_t control_committed_ = 0;                       // Control batches up to here are durable.
  std::map<std::uint64_t, OpenBulk> open_bulk_;               // Bulk batches that are not durable.
  std::multimap<std::uint64_t, Reply> waiting_;               // By the control batch they wait for.
  std::unordered_map<std::string, std::uint64_t> touched_;    // Worker -> last control batch that touched it.
  std::unordered_map<std::string, std::uint64_t> last_bulk_;  // Worker -> its last bulk batch, while open.
  absl::Status closed_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_RELEASE_GATE_H_
