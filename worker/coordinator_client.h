// The worker's client of the coordinator: syncs, heartbeats, reconnects, and the lease's clock. All of it
// runs on a thread of its own, so that no trial and no disk delays a heartbeat.
//
// A Session stream is tried first. Behind a proxy that does not pass streams, the same messages go by single Sync calls.
// A failed call is repeated after a jittered back-off. The outbox keeps the unacknowledged events: no state is lost.
//
// Thread safety: RequestSync, connected and Stop on any thread. Hooks run on the client's thread and must not block.
#ifndef INLIER_WORKER_COORDINATOR_CLIENT_H_
#define INLIER_WORKER_COORDINATOR_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "inlier/v1/worker_service.pb.h"
#include "rpc/credentials.h"
#include "rpc/renewed_channel.h"
#include "worker/lease_guard.h"
#include "worker/outbox.h"
#include "worker/sync_schedule.h"
#include "worker/worker_metrics.h"

namespace inlier {

struct CoordinatorClientOptions {
  std::string address;
  ClientSecurity security;  // Its files can be read.
  int message_bytes_max = 64 << 20;
  Backoff backoff{std::chrono::milliseconds(50), std::chrono::seconds(5), 2.0, 0.3};
  // Longest silence after the first sync before the call counts as broken; later it is half of the lease's TTL.
  Duration answer_timeout = std::chrono::seconds(5);
  // How long attempts run on after the lease; 0: they end with it (LeaseGuard).
  Duration hold = std::chrono::hours(24);
  SyncSchedule::Limits limits;  // Of one sync.
};

struct CoordinatorClientHooks {
  // Fills the sync that is about to be sent, but for sync_id and events.
  std::function<void(v1::WorkerSync&)> fill;
  // `knows_of_the_end`: the coordinator had a sync with `draining` when it answered.
  std::function<void(const v1::CoordinatorSync&, bool knows_of_the_end)> on_answer;
  // The lease has come to another state.
  std::function<void(LeaseGuard::State)> on_lease;
  // The coordinator refuses this worker permanently (another version, for example); the client has ended.
  std::function<void(const absl::Status&)> on_refused;
};

class CoordinatorClient {
 public:
  CoordinatorClient(CoordinatorClientOptions options, Outbox& outbox, WorkerMetrics& metrics,
                    CoordinatorClientHooks hooks);
  ~CoordinatorClient();  // Stops.
  CoordinatorClient(const CoordinatorClient&) = delete;
  CoordinatorClient& operator=(const CoordinatorClient&) = delete;

  void Start();
  // Sends a sync soon, within a delay that depends on the urgency, in addition to the heartbeats.
  using Urgency = SyncSchedule::Urgency;
  void RequestSync(Urgency urgency);
  bool connected() const;
  // Ends the call and joins the thread. May be called more than once.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// A new connection to the coordinator, with TLS, token and sizes of `options`. REQUIRES: SecurityOf has read the files.
std::unique_ptr<RenewedChannel> ConnectToCoordinator(const CoordinatorClientOptions& options);

// `preferred`, with waits that leave time for several tries within a lease of `ttl`: a restarted coordinator
// gives each live attempt a fresh lease, within which its worker must reconnect.
Backoff BackoffWithin(Backoff preferred, Duration ttl);

// The message about a failed call: the address, the reason and what to check.
std::string DescribeCallFailure(const absl::Status& status, const std::string& address);

}  // namespace inlier

#endif  // INLIER_WORKER_COORDINATOR_CLIENT_H_
