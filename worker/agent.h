// The worker as a whole: makes what runs here equal to what the coordinator wants, reports, and ends in good
// order.
//
// Level-triggered: every answer of the coordinator says which attempts should run; those are started, all
// others are stopped. Without an answer for the lease's time all are suspended, until one says which may go
// on. An attempt is started at most once by a worker process, whatever is lost, doubled or
// repeated.
//
// Thread safety: none; lives on the io_context's thread, which must be the one that called Start (children
// die with the thread that spawned them). Hooks of the coordinator client only post to it.
#ifndef INLIER_WORKER_AGENT_H_
#define INLIER_WORKER_AGENT_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/artifact_transfer.h"
#include "worker/attempt_hold.h"
#include "worker/coordinator_client.h"
#include "worker/outbox.h"
#include "worker/slot_plan.h"
#include "worker/supervisor.h"
#include "worker/worker_metrics.h"

namespace inlier {

class Agent {
 public:
  struct Options {
    std::string incarnation;  // Fresh uuid.
    std::string name;
    std::string host;
    std::string version;  // As told to the coordinator.
    std::vector<SlotPlan> slots;
    std::uint64_t memory_mib = 0;  // For all slots together; 0: not known.
    AttemptSettings attempts;
    CoordinatorClient::Options client;
    ArtifactTransfer::Options artifacts;  // Its state_dir and coordinator are those above.
    // How long attempts are kept, suspended, while the coordinator is away for longer than the lease; 0: they
    // end with the lease.
    Duration hold = std::chrono::hours(24);
    // After the children have ended: how long their last events may take to be acknowledged.
    Duration delivery_wait = std::chrono::seconds(10);
    // The same while the coordinator cannot be reached; what is left stays in the outbox for the next worker.
    Duration delivery_wait_alone = std::chrono::seconds(1);
  };

  // `outbox` and `metrics` outlive the agent. `on_end` is called once, when everything is over: OK after a
  // drain.
  Agent(boost::asio::io_context& io, Options options, Outbox& outbox, WorkerMetrics& metrics,
        std::function<void(const absl::Status&)> on_end);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void Start();

  // Takes nothing new, asks the children to end (they write a checkpoint), delivers what they said, then
  // ends.
  void Drain(const std::string& reason);
  // Kills the children and ends at once.
  void Abort(const std::string& reason);

  std::size_t running() const { return running_.size(); }
  // At scrape: gauges of what is now.
  void UpdateMetrics();

 private:
  void OnAnswer(const v1::CoordinatorSync& answer);
  void OnLease(LeaseGuard::State state);
  // Suspends what can be, and ends what cannot with `grace`.
  void SuspendAll(Duration grace);
  void GiveUpSuspended();
  bool Leased() const;
  void OnRefused(const absl::Status& status);
  void Reconcile();
  void StartAttempt(const v1::Assignment& assignment, std::uint32_t slot);
  boost::asio::awaitable<void> RunAttempt(std::shared_ptr<Supervisor> supervisor);
  void OnEnded(Supervisor& supervisor, const Supervisor::Result& result);
  void Forget(std::uint64_t acknowledged);
  void MaybeFinishDrain();
  void End(const absl::Status& status);
  std::optional<std::uint32_t> FreeSlot(const v1::Assignment& assignment) const;

  struct Ended {
    std::string stage_id;
    std::uint64_t outcome_sequence = 0;
    bool succeeded = false;
    bool cleaned = false;
  };

  boost::asio::io_context& io_;
  const Options options_;
  Outbox& outbox_;
  WorkerMetrics& metrics_;
  std::function<void(const absl::Status&)> on_end_;
  boost::asio::thread_pool disk_{1};
  AttemptBoard board_;
  v1::WorkerSync identity_;  // What is the same in every sync.
  std::map<std::uint64_t, std::shared_ptr<Supervisor>> running_;
  std::map<std::uint64_t, Ended> ended_;  // By token, until the coordinator has the outcome and asks no more.
  std::map<std::uint64_t, v1::Assignment> desired_;
  LeaseGuard::State lease_ = LeaseGuard::State::kIdle;
  AttemptHold hold_;
  bool draining_ = false;
  bool finished_ = false;
  bool delivery_armed_ = false;
  std::uint64_t thinned_counted_ = 0;
  absl::Status end_status_;
  boost::asio::steady_timer delivery_timer_;
  boost::asio::steady_timer hold_timer_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Tells late posts that this object is gone.
  ArtifactTransfer artifacts_;                             // Its threads use the members above.
  CoordinatorClient client_;                               // Last: its thread uses the members above.
};

}  // namespace inlier

#endif  // INLIER_WORKER_AGENT_H_
