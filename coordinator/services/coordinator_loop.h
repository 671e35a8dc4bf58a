// The one place that changes the state: calls the orchestrator, commits its decisions, and sends the replies.
//
// gRPC's threads only Post to it. Each call runs to its end on the coordinator's thread; its changes go to
// the committer, whose thread writes them; its reply leaves from the coordinator's thread when they are
// durable, and with them every earlier change that it shows (release_gate.h). While the disk is full leases
// are renewed, but no events are taken, no leases are granted, calls that change something are refused with
// the reason, and others show the stored state. A change that can never be committed ends the process: the
// store would contradict the memory.
//
// Thread safety: Post and Run from any thread; everything else on the coordinator's thread.
#ifndef INLIER_COORDINATOR_SERVICES_COORDINATOR_LOOP_H_
#define INLIER_COORDINATOR_SERVICES_COORDINATOR_LOOP_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "coordinator/decisions/orchestrator.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/services/listeners.h"
#include "coordinator/services/release_gate.h"
#include "coordinator/store/committer.h"

namespace inlier {

// Called once, with the response of a call or why there is none.
template <typename T>
using Reply = std::function<void(absl::StatusOr<T>)>;

// The error for users while the store takes no changes; OK stays OK.
absl::Status StoreWaits(const absl::Status& health);

class CoordinatorLoop {
 public:
  // All outlive the loop; at most one thread runs `io`. `fatal` is called at most once, with why the process
  // must end. REQUIRES: `orchestrator` has recovered.
  CoordinatorLoop(boost::asio::io_context& io, Orchestrator& orchestrator, Committer& committer,
                  CoordinatorMetrics& metrics, std::function<void(absl::Status)> fatal);

  // Runs `call` later on the coordinator's thread, after every call posted before it.
  template <typename Call>
  void Post(Call call) {
    boost::asio::post(io_, std::move(call));
  }
  // As Post, but waits until `call` has run. REQUIRES: on another thread, and a thread runs `io`.
  void Run(std::function<void()> call);

  // Replies with the response of `decide(orchestrator, now, effects)`, once it is durable.
  template <typename Response, typename Call>
  void Decide(Call decide, Reply<Response> reply) {
    Effects effects;
    absl::StatusOr<Response> response = decide(orchestrator_, Now(), effects);
    Deliver(std::move(effects), nullptr,
            [response = std::move(response), reply = std::move(reply)](absl::Status status) {
              if (status.ok() || !response.ok()) return reply(response);
              reply(Annotate(status, "this change is decided, and is lost if the coordinator ends before"));
            });
  }
  // Replies with `look(orchestrator)` once all that it shows is durable; while the store takes no changes,
  // with `look` of the stored state.
  template <typename Response, typename Look>
  void Show(Look look, Reply<Response> reply) {
    // Held by pointer: it can be large, and a waiting reply may be copied.
    auto seen = std::make_shared<absl::StatusOr<Response>>(look(orchestrator_));
    gate_.AfterAllForUser([this, seen, look, reply = std::move(reply)](const absl::Status& status) {
      if (status.ok()) return reply(std::move(*seen));
      reply(stored_ != nullptr ? absl::StatusOr<Response>(look(*stored_)) : absl::StatusOr<Response>(status));
    });
  }
  // Commits changes that no one waits for.
  void Commit(Effects effects) { Deliver(std::move(effects)); }
  // Answers a worker's sync. `caller`: empty if not known.
  void Sync(const v1::WorkerSync& sync, bool by_stream, const std::string& caller,
            Reply<v1::CoordinatorSync> reply);
  // The worker's stream has its answer and waits: new work is pushed to it until its next sync.
  void Listen(const std::string& incarnation, Listeners::Place place);
  // The stream has ended: nothing is leased to its worker before its next sync.
  void Unlisten(const std::string& incarnation, const Listener* ended);
  // Runs `call` when everything decided so far is durable, within this call or later; with an error when it
  // never will be.
  void AfterCommit(std::function<void(absl::Status)> call) { gate_.AfterAll(std::move(call)); }
  // The same for a user, with the reason while the store takes no changes.
  void AfterCommitForUser(std::function<void(absl::Status)> call) { gate_.AfterAllForUser(std::move(call)); }

  // Puts the drain in force, and returns the view after it once the yields of the drain are durable. Waits
  // for that. REQUIRES: as Run. Unavailable: the loop has ended.
  absl::StatusOr<ClusterView> DrainJobs(const JobDrain& drain);

  // `store` takes no changes, and why; OK: it does again. On the writer's thread, which reads what it holds.
  void OnStoreWaits(const absl::Status& reason, Store& store);
  // OK while the store takes changes.
  const absl::Status& store_waits() const { return gate_.store_waits(); }
  // The stored state while the store takes no changes; null otherwise, and where it cannot be read.
  const Orchestrator* stored() const { return stored_.get(); }
  // Unavailable, with the reason, while the store takes no changes. On any thread.
  absl::Status CheckStore() const;

  // Commits the `effects` of recovery, and starts the timer.
  void Start(Effects effects);
  // Stops the timer. Calls still work.
  void Stop();
  // Sends `reason` in place of every waiting and later reply. Unless it is Unavailable the process must end.
  void Abandon(const absl::Status& reason);

  const Orchestrator& orchestrator() const { return orchestrator_; }
  CommitterHealth StoreHealth() const { return committer_.Health(); }
  static Moment Now() { return {MonotonicNow(), WallNow()}; }

 private:
  // Logs and commits the decisions of a call by `worker` (nullptr: a user, or the clock); `reply` passes the
  // gate.
  void Deliver(Effects effects, const std::string* worker = nullptr, ReleaseGate::Reply reply = nullptr);
  void Tick();
  void Arm();

  boost::asio::io_context& io_;
  Orchestrator& orchestrator_;
  Committer& committer_;
  CoordinatorMetrics& metrics_;
  std::function<void(absl::Status)> fatal_;
  boost::asio::steady_timer timer_;
  Listeners listeners_;
  std::optional<Timestamp> armed_;
  Timestamp ticked_;
  bool stopped_ = true;
  ReleaseGate gate_;
  std::shared_ptr<const Orchestrator> stored_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_COORDINATOR_LOOP_H_
