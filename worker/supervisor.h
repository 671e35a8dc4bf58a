// One attempt from its assignment to its outcome: folder, child (of a gang: children), events, checkpoint, end.
//
// One coroutine, Run(), does it in order. The outcome is the last event that enters the outbox: after the
// child is gone and, for a finished training, after its model is where every worker can get it (in
// artifacts/, and at the coordinator where no folder is shared). The lease is renewed meanwhile. Likewise a
// checkpoint to resume from is reported after its upload.
//
// Thread safety: none; lives on the io_context's thread.
#ifndef INLIER_WORKER_SUPERVISOR_H_
#define INLIER_WORKER_SUPERVISOR_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/worker_service.pb.h"
#include "worker/artifact_transfer.h"
#include "worker/attempt_board.h"
#include "worker/attempt_end.h"
#include "worker/attempt_settings.h"
#include "worker/coordinator_client.h"
#include "worker/outbox.h"
#include "worker/processes/event_reader.h"
#include "worker/processes/trial_log.h"
#include "worker/processes/trial_process.h"
#include "worker/slots/rank_processes.h"
#include "worker/slots/slot_plan.h"
#include "worker/slots/waiting_child.h"
#include "worker/worker_metrics.h"

namespace inlier {

// The parts of the worker that a supervisor uses; all of them outlive it.
struct WorkerParts {
  boost::asio::io_context& io;
  boost::asio::thread_pool& disk;  // For work that waits for the disk.
  Outbox& outbox;
  AttemptBoard& board;
  WorkerMetrics& metrics;
  ArtifactTransfer& artifacts;
  std::function<void(CoordinatorClient::Urgency)> request_sync;
  std::function<bool()> connected;  // The coordinator answers.
  std::function<bool()> leased;     // Children may be started. After a change to true: Wake().
  std::function<void(std::uint32_t slot)> training_runs;  // On the CPU, and is ready to compute.
};

// The outcome when the worker could not prepare the attempt: INVALID_SPEC when it can never be prepared, else
// CRASHED.
v1::Outcome FailedToPrepare(const absl::Status& status);

struct AttemptChild {
  std::unique_ptr<TrialProcess> process;
  std::uint64_t oom_kills_before = 0;
  double cpu_seconds_counted = 0;  // Of its earlier attempts too.
};

struct ReportedByChild {
  bool started = false;
  std::optional<v1::Outcome> outcome;
  std::optional<v1::CheckpointSaved> final_checkpoint;
  std::uint64_t train_step = 0;
  std::uint64_t log_lines = 0;
  std::string not_kept;  // Why the last events are not on this worker's disk.
};

struct AttemptStop {
  StopKind kind = StopKind::kNone;
  std::string reason;
  bool not_desired = false;
  std::optional<Timestamp> kill_at;
};

struct AttemptTransfers {
  ArtifactHandle fetched;                             // Kept while the child may read it.
  std::map<std::filesystem::path, std::string> read;  // By the child, with the digests.
  bool fetch_again = false;                           // A fetch broke while the coordinator was away.
  std::optional<v1::TrialEvent> next_checkpoint;      // To upload: a checkpoint to resume from.
  bool sending = false;                               // SendCheckpoints runs.
  bool upload_closed = false;                         // No further checkpoint is uploaded.
  bool sending_model = false;                         // The child is gone; the model is being uploaded.
  std::string resume_trouble;  // Why it does not resume from the checkpoint that it was to; empty: it does.
};

class Supervisor {
 public:
  // `waiting_child`: the slot's; outlives the supervisor. `further`: of the ranks from 1 on, where it is a gang.
  Supervisor(const AttemptSettings& settings, WorkerParts parts, SlotPlan slot, WaitingChild& waiting_child,
             std::vector<RankProcesses::Place> further, v1::Assignment assignment);
  // When a worker ends at once the board and the outbox may be gone already: only the child is ended here.
  ~Supervisor() = default;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  struct Result {
    v1::Outcome outcome;
    std::uint64_t outcome_sequence = 0;  // Its number in the outbox.
  };
  // Runs the attempt. The supervisor must live until it returns. Call once.
  boost::asio::awaitable<Result> Run();

  // Asks the child to end, and kills its group after `grace`. A later call can only shorten the grace; the
  // first reason stays. A finished training whose model is being uploaded continues, unless it is not
  // desired.
  void Stop(StopKind kind, const std::string& reason, Duration grace);
  // A stopping attempt is not desired: nothing more of it is uploaded.
  void Abandon();
  // Call when a transfer of artifacts has ended, when the mode is known, when the worker has its lease again.
  void Wake();

  std::uint64_t token() const { return assignment_.token(); }
  const v1::Assignment& assignment() const { return assignment_; }
  // Rank 0's first.
  std::vector<std::uint32_t> slots() const;
  bool Uses(std::uint32_t slot) const;
  bool stopping() const { return stop_.kind != StopKind::kNone; }
  void BindTo(const std::vector<int>& cpus);
  // Adds the CPU time since the last call to the worker's counter.
  void CountCpu(double seconds_so_far);
  double CpuSeconds() const {
    return ranks_.CpuSeconds() + (child_.process ? child_.process->CpuSeconds() : 0);
  }
  std::int64_t ResidentBytes() const {
    return ranks_.ResidentBytes() + (child_.process ? child_.process->ResidentBytes() : 0);
  }

 private:
  // Prepares the start of the child. The outcome of an attempt that cannot start.
  boost::asio::awaitable<std::optional<v1::Outcome>> Prepare();
  // The child that waits in the slot has this evaluation now; false: there is none.
  bool TakeWaitingChild();
  absl::Status StartChild();
  boost::asio::awaitable<absl::Status> StartRanks();
  // Waits for the child's end, or its outcome where it stays for the next evaluation: then `exit` is that of a
  // process that has ended well.
  boost::asio::awaitable<ProcessExit> AwaitChild();
  bool ChildStays() const;
  boost::asio::awaitable<v1::Outcome> Finish(ProcessExit exit);

  // attempt_artifacts.cc. Gets the checkpoints of other attempts that the spec needs; the outcome on failure.
  boost::asio::awaitable<std::optional<v1::Outcome>> PrepareCheckpoint();
  // The outcome of an evaluation that needs neither model nor process.
  boost::asio::awaitable<std::optional<v1::Outcome>> EvaluateNothing();
  boost::asio::awaitable<std::optional<v1::Outcome>> PrepareModel(bool streamed);
  boost::asio::awaitable<std::optional<v1::Outcome>> PrepareResume(bool streamed);
  // A sound copy of the checkpoint; why there is none, after the words "the checkpoint".
  boost::asio::awaitable<absl::StatusOr<std::filesystem::path>> GetCheckpoint(std::filesystem::path path,
                                                                              std::string sha256,
                                                                              bool streamed, bool waits);
  // Waits for one of `paths` to exist; false after settings.artifact_wait, or when stopped.
  boost::asio::awaitable<bool> WaitForAny(std::vector<std::filesystem::path> paths);
  // Checks that the model and the checkpoint that the child has read are unchanged; costs nothing where they are.
  boost::asio::awaitable<absl::Status> CheckFilesRead();
  boost::asio::awaitable<ArtifactProgress> FetchArtifact(std::string sha256);
  // Uploads the checkpoint, then reports `event`; of the waiting ones only the newest.
  void SendCheckpoint(v1::TrialEvent event);
  boost::asio::awaitable<void> SendCheckpoints();
  // Waits for the checkpoint that is being sent; cancels that unless it is `wanted`.
  boost::asio::awaitable<void> EndSending(bool wanted);
  boost::asio::awaitable<absl::Status> SendModel();
  void ShowTransfer(const char* phase, const ArtifactProgress& seen);
  static boost::asio::awaitable<void> Pause(boost::asio::steady_timer& timer, Duration longest);

  void OnEvents(std::string_view bytes);
  void OnOutput(std::string_view bytes);
  void Route(std::vector<v1::TrialEvent> events);
  // The worker's warning about this attempt: to both logs and to the coordinator.
  void Warn(const std::string& message);
  std::uint64_t Report(std::vector<v1::TrialEvent> events);
  void ArmKill(Duration grace);

  const AttemptSettings& settings_;
  WorkerParts parts_;
  const SlotPlan slot_;
  WaitingChild& waiting_child_;
  const v1::Assignment assignment_;
  std::filesystem::path folder_;
  v1::AttemptSpec spec_;
  TrialLog log_;
  EventReader reader_;
  AttemptChild child_;
  ReportedByChild reported_;
  AttemptStop stop_;
  AttemptTransfers transfers_;
  RankProcesses ranks_;
  boost::asio::steady_timer kill_timer_;
  boost::asio::steady_timer wait_timer_;
  boost::asio::steady_timer send_timer_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Expired for a timer's handler after the end.
};

}  // namespace inlier

#endif  // INLIER_WORKER_SUPERVISOR_H_
