// The coordinator as a process that can die: production orchestrator, release gate, commit queue and store on
// a real SQLite file, without threads. What the shell and the committer do with threads and clocks is done
// here by events of the world: a commit takes a while, its end is heard of a little later, and the process
// may end at any moment in between.
//
// A crash loses what is queued and the transaction that is under way; what was committed stays, because the
// file is SQLite's own and every COMMIT has returned before. (What a power cut may do to the file's unsynced
// pages is tried in tests/coordinator/store.)
#ifndef INLIER_TESTS_SIMULATION_COORDINATOR_PROCESS_H_
#define INLIER_TESTS_SIMULATION_COORDINATOR_PROCESS_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/decisions/orchestrator.h"
#include "coordinator/services/listeners.h"
#include "coordinator/services/release_gate.h"
#include "coordinator/store/commit_queue.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/fault_vfs.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/world.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

class CoordinatorProcess {
 public:
  template <typename T>
  using Reply = std::function<void(absl::StatusOr<T>)>;

  // All outlive it. The database begins as a copy of `template_file`.
  CoordinatorProcess(World& world, Oracle& oracle, const FaultVfs& disk,
                     const std::filesystem::path& template_file);
  ~CoordinatorProcess();

  static OrchestratorOptions Options();

  bool up() const { return orchestrator_ != nullptr; }
  // Grows with each start; a connection to an earlier one is broken.
  std::uint64_t life() const { return life_; }
  const Orchestrator& orchestrator() const { return *orchestrator_; }
  // Nothing waits to be committed.
  bool Idle() const { return up() && queue_->empty() && group_.empty(); }

  void Start();
  enum class End { kNow, kAfterTheCommit };  // The transaction under way is lost, or committed unheard of.
  void Crash(End end);

  // REQUIRES of all: up().
  void Sync(const v1::WorkerSync& sync, bool by_stream, Reply<v1::CoordinatorSync> reply);
  // The stream has been answered and waits; it has ended.
  void Listen(const std::string& incarnation, Listeners::Place place);
  void Unlisten(const std::string& incarnation, const Listener* ended);
  void Submit(const v1::SubmitSweepRequest& request, const Caller& caller,
              Reply<v1::SubmitSweepResponse> reply);
  // Any other call of people: `call(orchestrator, now, effects)` gives the response.
  template <typename Response, typename Call>
  void Decide(Call call, Reply<Response> reply) {
    Effects effects;
    absl::StatusOr<Response> response = call(*orchestrator_, Now(), effects);
    Deliver(std::move(effects), nullptr,
            [response = std::move(response), reply = std::move(reply)](absl::Status status) {
              reply(status.ok() ? response : absl::StatusOr<Response>(status));
            });
  }
  // A look at the state, answered when all it shows is durable.
  template <typename Response, typename Look>
  void Show(Look look, Reply<Response> reply) {
    Response seen = look(*orchestrator_);
    gate_->AfterAll([seen = std::move(seen), reply = std::move(reply)](absl::Status status) {
      reply(status.ok() ? absl::StatusOr<Response>(seen) : absl::StatusOr<Response>(status));
    });
  }

  // The calls of a service outside the decisions.
  void DrainJobs(const JobDrain& drain);

  // Troubles.
  void SlowStore(Duration for_long) { slow_until_ = world_.now() + for_long; }
  void FullStore(Duration for_long);
  void FailingStore();  // At the next commit, which ends the process.
  void SlowThread(Duration for_long) { stalled_until_ = world_.now() + for_long; }
  void WallJump(std::int64_t ms) { wall_offset_ms_ += ms; }
  Timestamp stalled_until() const { return stalled_until_; }

  // Everything is well from here on.
  void Calm();

 private:
  Moment Now() const;
  CommitterHealth Health() const;
  void Deliver(Effects effects, const v1::WorkerSync* sync, ReleaseGate::Reply reply);
  void PushWhenCommitted(std::map<std::string, v1::CoordinatorSync> pushes);
  void Tick();
  void Arm();
  void Pump();
  void CommitEnds();
  void Remember();
  void CheckRecovered();

  World& world_;
  Oracle& oracle_;
  const FaultVfs& disk_;
  TemporaryFolder folder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Orchestrator> orchestrator_;
  std::unique_ptr<ReleaseGate> gate_;
  std::unique_ptr<CommitQueue> queue_;
  Listeners listeners_;
  std::vector<QueuedBatch> group_;  // The transaction under way.
  absl::Status health_;
  int tries_ = 0;
  std::uint64_t life_ = 0;
  std::optional<Timestamp> armed_;  // When the next tick is due.
  std::uint64_t armings_ = 0;
  Duration clock_offset_{0};  // Of this process's monotonic clock.
  std::int64_t wall_offset_ms_ = 0;
  Timestamp slow_until_, full_until_, stalled_until_;
  bool fails_ = false;
  bool careful_ = false;
  std::uint64_t control_committed_ = 0;
  std::map<std::uint64_t, std::string> states_;  // Durable state after each control batch, if careful.
  std::vector<std::string> expected_;            // One of these must be what Start finds, if not empty.
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_COORDINATOR_PROCESS_H_
