// One attempt from its assignment to its outcome: folder, child, events, checkpoint, end.
//
// The story is one coroutine, Run(). The outcome event is the last thing that goes into the outbox, after the
// child is gone and, for a finished training, after its model is where every worker can get it: in
// artifacts/, and with the coordinator where no folder is shared. Who sees the outcome can rely on both; the
// lease is renewed meanwhile. In the same way a checkpoint to go on from is told of when it has arrived.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_SUPERVISOR_H_
#define INLIER_WORKER_SUPERVISOR_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/worker_service.pb.h"
#include "worker/artifact_transfer.h"
#include "worker/attempt_board.h"
#include "worker/attempt_end.h"
#include "worker/coordinator_client.h"
#include "worker/event_reader.h"
#include "worker/outbox.h"
#include "worker/slot_plan.h"
#include "worker/trial_log.h"
#include "worker/trial_process.h"
#include "worker/worker_metrics.h"

namespace inlier {

// Where and how attempts run; the same for all of a worker. Paths are absolute.
struct AttemptSettings {
  std::filesystem::path state_dir, data_dir, cache_dir;
  std::string trial_program;
  std::size_t line_bytes_max = 65536;
  Duration stop_grace = std::chrono::seconds(10);
  // How long an artifact that another machine made may take to appear in the shared folder.
  Duration artifact_wait = std::chrono::seconds(5);
};

// What a supervisor uses of its worker; all of it outlives the supervisor.
struct WorkerParts {
  boost::asio::io_context& io;
  boost::asio::thread_pool& disk;  // For work that waits for the disk.
  Outbox& outbox;
  AttemptBoard& board;
  WorkerMetrics& metrics;
  ArtifactTransfer& artifacts;
  std::function<void(CoordinatorClient::Urgency)> nudge;
  std::function<bool()> connected;  // The coordinator answers.
};

// The failure of something the worker does for the attempt. A spec that can never work is told apart from a
// machine in trouble.
v1::Outcome FailedToPrepare(const absl::Status& status);

class Supervisor {
 public:
  Supervisor(const AttemptSettings& settings, WorkerParts parts, SlotPlan slot, v1::Assignment assignment);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  struct Result {
    v1::Outcome outcome;
    std::uint64_t outcome_sequence = 0;  // Its number in the outbox.
  };
  // Runs the attempt. The supervisor must live until it returns. Call once.
  boost::asio::awaitable<Result> Run();

  // Asks the child to end, and kills its group after `grace`. A later call can only shorten the grace; the
  // first reason stays. A suspended one goes on to end, or with no grace is killed as it stands. A training
  // that is done, its model on its way to the coordinator, goes on with that unless it is not desired.
  void Stop(StopKind kind, const std::string& reason, Duration grace);
  // Stops the child where it stands, or keeps it from being started, until Continue or Stop; its slot, token
  // and what it has said stay. False when it cannot stay so: it is stopping already, or it holds a lock for
  // which trials of other workers may wait. Called again, it looks for such a lock again.
  bool Suspend();
  void Continue();
  bool suspended() const { return suspended_at_.has_value(); }
  // One that is stopping is not desired either: nothing more of it is to be delivered.
  void Abandon();
  // A transfer of artifacts has ended, or the mode is known.
  void Wake();

  std::uint64_t token() const { return assignment_.token(); }
  const v1::Assignment& assignment() const { return assignment_; }
  std::uint32_t slot() const { return slot_.index; }
  bool stopping() const { return stopped_ != StopKind::kNone; }
  // Adds the CPU time since the last call to the worker's counter.
  void CountCpu(double seconds_so_far);
  double CpuSeconds() const { return process_ ? process_->CpuSeconds() : 0; }
  std::int64_t ResidentBytes() const { return process_ ? process_->ResidentBytes() : 0; }

 private:
  // What stands before the child can start: OK, or the outcome of an attempt that never will.
  boost::asio::awaitable<std::optional<v1::Outcome>> Prepare();
  absl::Status StartChild();
  boost::asio::awaitable<v1::Outcome> Finish(ProcessExit exit);

  // attempt_artifacts.cc. What the spec needs of other attempts: nothing, or the outcome that ends this one.
  boost::asio::awaitable<std::optional<v1::Outcome>> PrepareCheckpoint();
  boost::asio::awaitable<std::optional<v1::Outcome>> PrepareModel(bool streamed);
  boost::asio::awaitable<std::optional<v1::Outcome>> PrepareResume(bool streamed);
  // The first of `paths` that is there; false after settings.artifact_wait, or when stopped.
  boost::asio::awaitable<bool> WaitForAny(std::vector<std::filesystem::path> paths,
                                          std::filesystem::path* found);
  boost::asio::awaitable<ArtifactProgress> FetchArtifact(std::string sha256);
  bool SendsCheckpoints() const;
  // Sends the checkpoint, then reports `event`; of those that wait the newest alone.
  void SendCheckpoint(v1::TrialEvent event);
  boost::asio::awaitable<void> SendCheckpoints();
  // Waits for the checkpoint that is being sent; gives it up when it is not `wanted`.
  boost::asio::awaitable<void> EndSending(bool wanted);
  boost::asio::awaitable<absl::Status> SendModel();
  void ShowTransfer(const char* phase, const ArtifactProgress& seen);
  static boost::asio::awaitable<void> Pause(boost::asio::steady_timer& timer, Duration longest);

  void OnEvents(std::string_view bytes);
  void OnOutput(std::string_view bytes);
  void Route(std::vector<v1::TrialEvent> events);
  void Tell(const std::string&
                message);  // A warning of the worker about this attempt: to both logs and the coordinator.
  std::uint64_t Report(std::vector<v1::TrialEvent> events);
  void ArmKill(Duration grace);

  const AttemptSettings& settings_;
  WorkerParts parts_;
  const SlotPlan slot_;
  const v1::Assignment assignment_;
  std::filesystem::path folder_;
  v1::AttemptSpec spec_;
  TrialLog log_;
  EventReader reader_;
  std::unique_ptr<TrialProcess> process_;
  std::optional<v1::Outcome> said_;
  std::optional<v1::CheckpointSaved> final_checkpoint_;
  StopKind stopped_ = StopKind::kNone;
  std::string stop_reason_;
  std::uint64_t oom_kills_before_ = 0;
  std::uint64_t last_train_step_ = 0;
  std::uint64_t log_lines_sent_ = 0;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer wait_timer_;
  boost::asio::steady_timer send_timer_;
  ArtifactHandle fetched_;                      // Kept while the child may read it.
  std::optional<v1::TrialEvent> next_to_send_;  // A checkpoint to go on from.
  bool fetch_again_ = false;                    // A fetch broke while the coordinator was away.
  bool sending_ = false;                        // SendCheckpoints runs.
  bool sends_no_more_ = false;
  bool delivering_ = false;  // The child is gone; the model is on its way.
  bool not_desired_ = false;
  std::optional<Timestamp> kill_at_;
  std::optional<Timestamp> suspended_at_;
  double cpu_seconds_counted_ = 0;
  std::shared_ptr<int> alive_ =
      std::make_shared<int>(0);  // Tells a timer's late handler that this object is gone.
};

}  // namespace inlier

#endif  // INLIER_WORKER_SUPERVISOR_H_
