// The conversation with the coordinator: syncs, heartbeats, reconnects, and the lease's clock. All of it on a
// thread of its own, so that nothing a trial or a disk does delays a heartbeat.
//
// A Session stream is tried first. Where something in between does not pass streams, the same messages go by
// single Sync calls. A call that fails is made again after a jittered back-off; the outbox keeps what was not
// acknowledged, so nothing is lost and nothing needs to be remembered about the call.
//
// Thread safety: Nudge, connected, lease_end and Stop on any thread. Hooks run on the client's thread; they
// must not block.
#ifndef INLIER_WORKER_COORDINATOR_CLIENT_H_
#define INLIER_WORKER_COORDINATOR_CLIENT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "base/service/credentials.h"
#include "inlier/v1/worker_service.pb.h"
#include "worker/lease_guard.h"
#include "worker/outbox.h"
#include "worker/worker_metrics.h"

namespace inlier {

class CoordinatorClient {
 public:
  struct Options {
    std::string address;
    ClientSecurity security;  // Its files can be read.
    int message_bytes_max = 64 << 20;
    Backoff backoff{std::chrono::milliseconds(50), std::chrono::seconds(5), 2.0, 0.3};
    // Longest silence after a sync before the call counts as broken, until the coordinator has told its
    // lease's time (then half of that).
    Duration answer_timeout = std::chrono::seconds(5);
    std::size_t events_per_sync_max = 2000;
    std::size_t bytes_per_sync_max = 4 << 20;
  };
  struct Hooks {
    // Adds what the worker is and does (everything but sync_id and events) to the sync that is about to be
    // sent.
    std::function<void(v1::WorkerSync&)> fill;
    std::function<void(const v1::CoordinatorSync&)> on_answer;
    // The lease has come to its last part, or has ended: see LeaseGuard.
    std::function<void(LeaseGuard::State)> on_lease;
    // The coordinator refuses this worker for good (another version, for example); the client has ended.
    std::function<void(const absl::Status&)> on_refused;
  };

  CoordinatorClient(Options options, Outbox& outbox, WorkerMetrics& metrics, Hooks hooks);
  ~CoordinatorClient();  // Stops.
  CoordinatorClient(const CoordinatorClient&) = delete;
  CoordinatorClient& operator=(const CoordinatorClient&) = delete;

  void Start();
  // There is something to say; how long it may wait for company depends on what it is. The lease's heartbeats
  // go on beside it.
  enum class Urgency { kProgress, kPoint, kResult };
  void Nudge(Urgency urgency);
  bool connected() const;
  // When the lease ends, as the latest answers left it; nullopt before the first. On any thread.
  std::optional<Timestamp> lease_end() const;
  // Ends the call and joins the thread. May be called twice.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// A connection of its own to the coordinator, with what `options` say of TLS, token and sizes. REQUIRES: the
// files can be read (SecurityOf has read them).
std::shared_ptr<grpc::Channel> ConnectToCoordinator(const CoordinatorClient::Options& options);

// `wished`, with waits that leave time for several tries within a lease of `ttl`: a coordinator that starts
// again gives each live attempt a lease from then on, in which its worker must be heard.
Backoff BackoffWithin(Backoff wished, Duration ttl);

// Whether `status` means that trying again cannot help: the coordinator refuses this worker.
bool IsRefusal(const absl::Status& status);

// What a person reads when a call has failed: the address, the reason and what to look at.
std::string DescribeCallFailure(const absl::Status& status, const std::string& address);

}  // namespace inlier

#endif  // INLIER_WORKER_COORDINATOR_CLIENT_H_
