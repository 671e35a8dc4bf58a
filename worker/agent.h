// The worker as a whole: makes the attempts that run here equal to those that the coordinator wants, reports,
// and shuts down in order.
//
// Level-triggered: every answer of the coordinator lists the attempts that should run; those are started, all
// others are stopped. While no answer comes attempts run on, also after the lease (LeaseGuard); none is
// started then. A worker process starts an attempt at most once, also when messages are lost or doubled.
//
// Thread safety: none; lives on the io_context's thread, which must be the one that called Start (children
// die with the thread that spawned them). Hooks of the coordinator client only post to it.
#ifndef INLIER_WORKER_AGENT_H_
#define INLIER_WORKER_AGENT_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/artifact_transfer.h"
#include "worker/coordinator_client.h"
#include "worker/data_checker.h"
#include "worker/gpus/device_readings.h"
#include "worker/job.h"
#include "worker/outbox.h"
#include "worker/slots/idle_cpus.h"
#include "worker/slots/slot_plan.h"
#include "worker/supervisor.h"
#include "worker/worker_metrics.h"

namespace inlier {

struct AgentOptions {
  std::string incarnation;  // Fresh uuid.
  std::string name;
  std::string host;
  std::string version;  // As reported to the coordinator.
  std::vector<SlotPlan> slots;
  std::uint64_t memory_mib = 0;  // For all slots together; 0: not known.
  WorkerJob job;
  AttemptSettings attempts;
  CoordinatorClientOptions client;
  ArtifactTransferOptions artifacts;  // Its state_dir and coordinator are those above.
  // After the children have ended: how long their last events may take to be acknowledged.
  Duration delivery_wait = std::chrono::seconds(10);
  // The same while the coordinator cannot be reached, when the rest stays in the outbox for the next worker; and the time that
  // the coordinator may take to acknowledge that a worker without events ends.
  Duration delivery_wait_alone = std::chrono::seconds(1);
};

struct EndedAttempt {
  std::string stage_id;
  std::uint64_t outcome_sequence = 0;
  bool succeeded = false, cleaned = false;
};

class Agent {
 public:
  // `outbox` and `metrics` outlive the agent. `on_end` is called once, at the end: with OK after a drain.
  Agent(boost::asio::io_context& io, AgentOptions options, Outbox& outbox, WorkerMetrics& metrics,
        std::function<void(const absl::Status&)> on_end);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void Start();

  // Takes nothing new, asks the children to end (they write a checkpoint), delivers their events, then ends.
  void Drain(const std::string& reason);
  // Kills the children and ends at once.
  void Abort(const std::string& reason);

  // Sets the gauges; called at each scrape.
  void UpdateMetrics();
  // Exports the readings and sends them to the coordinator. On any thread.
  void ShowDevices(const DeviceReadings& readings);

 private:
  enum class Phase { kRunning, kDraining, kFinished };

  void OnAnswer(const v1::CoordinatorSync& answer);
  void OnLease(LeaseGuard::State state);
  // True when attempts may be started.
  bool Leased() const { return lease_ == LeaseGuard::State::kIdle || lease_ == LeaseGuard::State::kHeld; }
  void StopAll(StopKind kind, const std::string& reason, Duration grace);
  void OnRefused(const absl::Status& status);
  void Reconcile();
  // `slots`: rank 0's first.
  void StartAttempt(const v1::Assignment& assignment, const std::vector<std::uint32_t>& slots);
  boost::asio::awaitable<void> RunAttempt(std::shared_ptr<Supervisor> supervisor);
  void OnEnded(Supervisor& supervisor, const Supervisor::Result& result);
  void Forget(std::uint64_t acknowledged);
  void MaybeFinishDrain();
  void End(const absl::Status& status);
  // The slots of all ranks, if all of them are free; empty: not yet.
  std::vector<std::uint32_t> FreeSlots(const v1::Assignment& assignment) const;

  boost::asio::io_context& io_;
  const AgentOptions options_;
  Outbox& outbox_;
  WorkerMetrics& metrics_;
  std::function<void(const absl::Status&)> on_end_;
  boost::asio::thread_pool disk_{2};  // A large file may be read for long.
  AttemptBoard board_;
  struct {
    std::deque<WaitingChild> waiting_children;  // By slot.
    IdleCpus idle_cpus;
    StartTrouble start_trouble;
  } slots_;
  v1::WorkerSync identity_;  // The part of a sync that never changes.
  std::map<std::uint64_t, std::shared_ptr<Supervisor>> running_;
  // By token, until the outcome is committed and no longer desired.
  std::map<std::uint64_t, EndedAttempt> ended_;
  std::map<std::uint64_t, v1::Assignment> desired_;
  LeaseGuard::State lease_ = LeaseGuard::State::kIdle;
  struct Ending {
    Phase phase = Phase::kRunning;
    absl::Status status;
    bool known = false;  // To the coordinator: it shows the worker as stopped, not as lost.
    std::optional<boost::asio::steady_timer> delivery;  // Runs when the last child of a drain is gone.
  } ending_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Expired for posts that arrive after the end.
  DataChecker data_checker_;
  ArtifactTransfer artifacts_;  // Its threads use the members above.
  CoordinatorClient client_;    // Last: its thread uses the members above.
};

}  // namespace inlier

#endif  // INLIER_WORKER_AGENT_H_
