// A worker and its children as a state machine: what worker/ does with threads, sockets and processes, in
// virtual time. The lease's clock is the production one (LeaseGuard); syncs, the numbered outbox and its
// pipelining on a stream follow worker/coordinator_client.cc and worker/outbox.cc.
//
// It may be slow, hung (its children continue), paused, killed and replaced, and its clocks may lie. In a job of a cluster
// it ends by itself, as worker/agent.cc does: when it is asked to, or when its job's time is over.
#ifndef INLIER_TESTS_SIMULATION_WORKER_PROCESS_H_
#define INLIER_TESTS_SIMULATION_WORKER_PROCESS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "coordinator/services/listeners.h"
#include "inlier/v1/worker_service.pb.h"
#include "tests/simulation/coordinator_process.h"
#include "tests/simulation/network.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/world.h"
#include "worker/lease_guard.h"

namespace inlier {

class WorkerProcess {
 public:
  // All outlive it. `name` is a label that others may share; `incarnation` is its own.
  WorkerProcess(World& world, Oracle& oracle, CoordinatorProcess& coordinator, const std::string& name,
                const std::string& incarnation);

  // The job that it runs in, as its environment and its configuration have it.
  struct Job {
    std::string id{};
    Duration length{};  // From its start, by its own clock: then it ends.
    std::uint32_t slots = 1;
    std::function<void()> exited{};  // It has ended by itself.
  };
  // REQUIRES: not started.
  void RunIn(Job job);

  void Start();
  // Its job's SIGTERM: attempts write checkpoints and yield, and it ends when their events are delivered, or after a while.
  void Terminate();
  // Its children die with it. What its outbox held is taken over by `heir`, if any.
  void Kill(WorkerProcess* heir);
  void Hang(Duration for_long);   // The agent; its children continue.
  void Pause(Duration for_long);  // All of it.
  // A person drains it, or does not any more. In a job it ends.
  void Drain(bool draining);
  void Calm();

  bool alive() const { return alive_; }
  Link& link() { return link_; }
  const std::string& name() const { return name_; }
  const std::string& incarnation() const { return incarnation_; }

 private:
  static constexpr std::uint64_t kSteps = 100;  // Of a training.

  struct Child {
    v1::Assignment assignment;
    std::uint64_t step = 0;
    bool started = false;
    bool stuck = false;                                  // Makes no progress any more.
    std::optional<Timestamp> ends;                       // The end of a child that was asked to stop.
    bool yields = false;                                 // And then it reports that it was preempted.
    std::deque<std::pair<v1::TrialEvent, bool>> unread;  // Written while the agent hangs.
  };
  // The coordinator's end of a stream: what it pushes arrives while this is the call.
  struct Stream final : Listener {
    Stream(WorkerProcess& worker, std::uint64_t call) : worker(worker), call(call) {}
    void Push(std::uint64_t heard, v1::CoordinatorSync push) override;
    WorkerProcess& worker;
    const std::uint64_t call;
    std::uint64_t syncs = 0;  // Arrived on it.
  };
  struct JobRun {
    Job job;
    Timestamp ends;      // By its own clock.
    bool asked = false;  // By SIGTERM.
    Timestamp since;     // It ends since then; by the world's clock.
    bool ending = false;
  };
  struct Sent {
    Timestamp at;
    std::uint64_t last_sequence = 0;
  };

  bool Frozen() const { return world_.now() < frozen_until_; }
  bool Hangs() const { return world_.now() < hangs_until_; }
  // Its own monotonic clock.
  Timestamp Local() const;

  bool Ending() const { return job_ && job_->ending; }
  // Ends it when its time is over.
  void CheckJob();
  void Exit();
  void FillJob(v1::WorkerSync& sync) const;

  void Wake();
  void WakeAt(Timestamp at);
  void CheckLease();
  void AskAllToEnd();
  // It ends soon, maybe with a checkpoint.
  void AskToEnd(Child& child);
  void Send();
  void Reconnect();
  void SyncArrives(const v1::WorkerSync& sync, std::uint64_t call);
  void OnAnswer(const v1::CoordinatorSync& answer);
  void Obey(const v1::CoordinatorSync& answer);
  void EndStream();
  // Asked to stop: it may still write a checkpoint and report it.
  void EndAsTold(Token token);
  void StartChild(const v1::Assignment& assignment);
  void ChildActs(Token token);
  v1::TrialEvent OutcomeOf(v1::Outcome::Kind kind);
  v1::TrialEvent Checkpoint(const Child& child, bool final);
  void Emit(Child& child, v1::TrialEvent event, bool sound);
  void Number(Token token, const v1::TrialEvent& event, bool sound);
  void EndChild(Token token);
  v1::WorkerSync State() const;
  // Finds the digest that the coordinator asked for, when the agent comes to it.
  void CheckData(Token token);

  World& world_;
  Oracle& oracle_;
  CoordinatorProcess& coordinator_;
  Link link_;
  std::string name_;
  std::string incarnation_;
  std::uint32_t slots_;
  bool spread_ = false;  // Each slot is on a GPU of its own.
  bool ordered_;         // A stream, or single calls.
  bool keeps_artifacts_;
  bool sound_clock_;  // Its clock is good enough for the lease's margin.
  std::int64_t rate_ppm_;
  Duration clock_base_;
  int slowness_;

  bool alive_ = true;
  bool draining_ = false;
  std::optional<JobRun> job_;
  Timestamp frozen_until_, hangs_until_;
  Duration hold_;
  LeaseGuard lease_;
  LeaseGuard::State lease_state_ = LeaseGuard::State::kIdle;
  std::map<Token, Child> children_;
  std::map<Token, v1::DataChecked> checks_;  // Wanted digests; those found have an answer.
  std::set<Token> finished_;
  std::deque<std::pair<v1::NumberedEvent, bool>> outbox_;  // With whether it is sound.
  std::uint64_t sequence_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t sent_through_ = 0;
  std::uint64_t sync_id_ = 0;
  std::uint64_t last_answered_ = 0;
  std::map<std::uint64_t, Sent> unanswered_;
  std::uint64_t call_ = 0;          // Grows with each reconnect.
  std::shared_ptr<Stream> stream_;  // Of the call, if it is one.
  std::uint64_t life_seen_ = 0;     // Of the coordinator, when this call was opened.
  Timestamp heartbeat_at_;
  Timestamp wake_at_;
  std::uint64_t wakings_ = 0;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_WORKER_PROCESS_H_
