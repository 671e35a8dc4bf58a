// When a reply may leave: not before everything in it is durable.
//
// A call decides changes, which are committed later, in batches; its reply waits here meanwhile.
//  (1) Replies to users leave when all control changes decided so far are committed. While the store takes no changes
//      they get its reason at once.
//  (2) The reply to a worker leaves when all changes of its own syncs, and all that touched its attempts, are
//      committed. Its own include bulk of earlier syncs: the reply acknowledges their events.
// A pure rule, run by the coordinator and by the simulation, without thread, clock or socket.
//
// Thread safety: none; lives on the coordinator's thread. Replies run within the call that releases them, and
// may call the gate.
#ifndef INLIER_COORDINATOR_SERVICES_RELEASE_GATE_H_
#define INLIER_COORDINATOR_SERVICES_RELEASE_GATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/decisions/orchestrator.h"
#include "coordinator/store/committer.h"

namespace inlier {

// The limits of a sync at the store's `health`: without space leases are renewed, but no events are accepted
// and no leases granted.
Orchestrator::SyncLimits SyncLimitsUnder(const CommitterHealth& health);

class ReleaseGate {
 public:
  // OK: the reply is durable; else why it never will be.
  using Reply = std::function<void(absl::Status)>;

  // Takes the `effects` of a call by `worker` (nullptr: a user, or the clock). `reply` may be empty; it runs
  // within this call when there is nothing to wait for. Returns the number of the batch that the caller
  // commits and reports to Settled; 0 when there are no changes. Numbers grow.
  std::uint64_t Decided(const Effects& effects, const std::string* worker, Reply reply);

  // Runs `reply` when all control changes decided so far are committed.
  void AfterAll(Reply reply) { Wait(0, control_decided_, {std::move(reply)}); }
  // The same for a user, who gets the reason instead while the store takes no changes.
  void AfterAllForUser(Reply reply) { Wait(0, control_decided_, {std::move(reply), /*user=*/true}); }

  // The store takes no changes, for `reason`: replies to users do not wait from now on. What was decided is
  // still committed later. OK: it takes changes again.
  void SetStoreWaits(const absl::Status& reason);
  const absl::Status& store_waits() const { return store_waits_; }

  // The batch of that number is durable, or never will be, which closes the gate. REQUIRES: Decided returned
  // the number; earlier control batches, and earlier bulk of the same worker, have settled.
  void Settled(std::uint64_t number, const absl::Status& status);

  // Sends `reason` to every waiting and later reply. False: the gate was closed before, and keeps its first
  // reason.
  bool Close(const absl::Status& reason);

 private:
  struct Waiting {
    Reply reply;
    bool user = false;
  };
  // Runs the reply when `bulk` (0: none) and all control batches up to `control` have settled: now, or later.
  void Wait(std::uint64_t bulk, std::uint64_t control, Waiting waiting);

  std::uint64_t numbers_ = 0;                      // The last number given.
  std::uint64_t control_decided_ = 0;              // Number of the last control batch.
  std::uint64_t control_committed_ = 0;            // Control batches up to here are durable.
  std::multimap<std::uint64_t, Waiting> waiting_;  // By the control batch they wait for.
  // Bulk batches that are not durable; the replies that wait for each, with the control batch they need too.
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, Waiting>>> open_bulk_;
  std::unordered_map<std::string, std::uint64_t> touched_;    // Worker -> last control batch that touched it.
  std::unordered_map<std::string, std::uint64_t> last_bulk_;  // Worker -> its last bulk batch.
  absl::Status closed_, store_waits_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_RELEASE_GATE_H_
