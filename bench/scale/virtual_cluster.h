// A cluster in virtual time: workers, their network and their trainings are events of a clock that jumps; the coordinator's decisions, release
// gate, commit queue and database are the real ones, called from one thread. What it measures is the processor time of each kind of call, the
// process's memory and the database's size; gRPC and the threads' switches are not in it (bench/scale/compare has them).
//
// A transaction takes as long in virtual time as it took in real time; decisions take none. So the figures hold for a coordinator whose thread is
// busy less than all of the time, which is what they have to show.
//
// Thread safety: none.
#ifndef INLIER_BENCH_SCALE_VIRTUAL_CLUSTER_H_
#define INLIER_BENCH_SCALE_VIRTUAL_CLUSTER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "base/time.h"
#include "coordinator/decisions/orchestrator.h"
#include "coordinator/services/release_gate.h"
#include "coordinator/store/commit_queue.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"

namespace inlier {

struct ClusterOptions {
  std::uint32_t workers = 1000;  // Of one slot each.
  double train_seconds = 80;     // Mean; each is within 50 % of it.
  double evaluate_seconds = 6.4;
  std::uint32_t points = 10;        // Measurements of a training, sent at its end.
  std::filesystem::path state_dir;  // Empty or not there.
};

class VirtualCluster {
 public:
  // Ends the program with a message where the folder cannot be used.
  explicit VirtualCluster(const ClusterOptions& options);
  ~VirtualCluster();

  // All workers connect, in so many seconds, while there is no work.
  void Connect(double seconds);
  // A lazy grid of 10^8 trials, each with a training of its own.
  void Submit();
  void Run(double seconds);
  // Real seconds that a coordinator needs to open the database and have its state again. No call may follow.
  double Restart();

  // Cumulative: virtual seconds, ended trials, calls and processor seconds of each kind, memory, bytes of the database.
  nlohmann::json Sample() const;

 private:
  enum class What { kSync, kEnd, kCommitted, kCommit, kTick };
  struct Event {
    Timestamp at;
    What what;
    std::uint32_t worker = 0;
    std::uint64_t number = 0;  // Events of an earlier number of its worker, or of the clock, are stale.
    friend bool operator>(const Event& a, const Event& b) { return a.at > b.at; }
  };
  struct Running {
    std::uint64_t token = 0;
    std::string stage;
    std::optional<std::uint64_t> train_steps;  // Absent: an evaluation.
  };
  struct Worker {
    std::optional<Running> running;
    std::vector<v1::NumberedEvent> events;  // Not acknowledged.
    std::uint64_t sync_id = 0, sequence = 0, latest_token = 0;
    std::uint64_t due = 0, ends = 0;  // Numbers of its latest events.
    bool waits = false;               // For the answer to its sync.
    bool again = false;               // It has news since.
  };
  // Adds the processor time of its life to a kind of call.
  class Meter;
  struct Cost {
    std::uint64_t calls = 0;
    double seconds = 0;
  };

  // As a coordinator that starts: the database, and the state from it. Returns what recovery asks for.
  Effects Open();
  Moment Now() const;
  void At(Timestamp at, What what, std::uint32_t worker = 0, std::uint64_t number = 0);
  void Step(const Event& event);
  void Sync(std::uint32_t index);
  void Answer(std::uint32_t index, const v1::CoordinatorSync& answer);
  void Start(std::uint32_t index, const v1::CoordinatorSync& answer);
  void End(std::uint32_t index);
  void Deliver(Effects effects, const std::string* worker, ReleaseGate::Reply reply);
  void Commit();
  void Committed();
  void Tick();
  void Arm();

  const ClusterOptions options_;
  std::mt19937_64 random_{1};
  Timestamp now_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Orchestrator> orchestrator_;
  ReleaseGate gate_;
  CommitQueue queue_;
  std::vector<QueuedBatch> group_;  // The transaction under way.
  std::optional<Timestamp> armed_;
  std::uint64_t armings_ = 0;
  std::vector<Worker> workers_;
  std::map<std::string, Cost> costs_;
  std::uint64_t ended_ = 0;
};

}  // namespace inlier

#endif  // INLIER_BENCH_SCALE_VIRTUAL_CLUSTER_H_
