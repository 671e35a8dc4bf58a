// The one place that changes anything: calls the orchestrator, commits what it decided, and lets the replies
// out.
//
// gRPC's threads only Post to it or Run. Each call runs to its end while it has the turn (turn.h); its
// changes go to the committer; its reply leaves when they are durable, without the turn, together with every
// earlier change that the reply tells of:
//  (1) replies to people leave when all control changes made so far are committed;
//  (2) the reply to a worker leaves when its own changes are committed and all those that touched its
//  attempts.
// While the disk is full leases are still renewed, but no events are taken and nothing new is granted or
// submitted. A change that can never be committed ends the process: memory would say something that the store
// does not.
//
// When nothing else waits to be stored, a small decision is committed within its own call: nobody is woken,
// and who arrives meanwhile shares the next transaction.
//
// Thread safety: Post, Run and Take from any thread; everything else having the turn.
#ifndef INLIER_COORDINATOR_SERVICES_SHELL_H_
#define INLIER_COORDINATOR_SERVICES_SHELL_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/metrics.h"
#include "coordinator/orchestration/orchestrator.h"
#include "coordinator/services/listeners.h"
#include "coordinator/services/release_gate.h"
#include "coordinator/services/turn.h"
#include "coordinator/store/committer.h"
#include "proto/spec/sweep_grid.h"

namespace inlier {

class Shell {
 public:
  template <typename T>
  using Reply = std::function<void(absl::StatusOr<T>)>;

  // All outlive the shell. `fatal` is called at most once, with why the process must end. Recovered
  // orchestrators only.
  Shell(boost::asio::io_context& io, Orchestrator& orchestrator, Committer& committer,
        CoordinatorMetrics& metrics, std::function<void(absl::Status)> fatal);
  ~Shell();  // When nothing is committed any more.

  // Of turn.h.
  template <typename Call>
  void Post(Call call) {
    turn_.Post(std::move(call));
  }
  template <typename Call>
  void Run(Call call) {
    turn_.Run(std::move(call));
  }
  template <typename Call>
  void RunSoon(Call call) {
    turn_.RunSoon(std::move(call));
  }
  template <typename Call>
  auto Take(Call call) {
    return turn_.Take(std::move(call));
  }

  // `expander`: the orchestrator's PrepareSubmission of the request's sweep; `grid`: its CheckedGrid.
  void Submit(const v1::SubmitSweepRequest& request, std::unique_ptr<SweepExpander> expander,
              Reply<v1::SubmitSweepResponse> reply);
  void Edit(const v1::EditSweepRequest& request, SweepGrid grid, Reply<v1::EditSweepResponse> reply);
  void Sync(const v1::WorkerSync& sync, bool by_stream, Reply<v1::CoordinatorSync> reply);
  // The worker's stream has been answered and waits: new work is pushed to it until its next sync.
  void Listen(const std::string& incarnation, Listeners::Place place);
  // That stream has ended: nothing is leased to its worker before it is heard again.
  void Unlisten(const std::string& incarnation, const Listener* ended);
  // Every other call that changes something: `method` is the orchestrator's.
  template <typename Request, typename Response>
  void Decide(absl::StatusOr<Response> (Orchestrator::*method)(const Request&, Moment, Effects&),
              const Request& request, Reply<Response> reply) {
    Answer<Response>([&](Effects& effects) { return (orchestrator_.*method)(request, Now(), effects); },
                     std::move(reply));
  }

  // Runs `call` when everything decided so far is durable, with an error when it never will be: now, or on
  // another thread without the turn.
  void AfterCommit(std::function<void(absl::Status)> call);

  // Commits what `effects` of a call made elsewhere say (Recover), and begins to look at the clock.
  void Start(Effects effects);
  // No ticks any more. Calls still work.
  void Stop();
  // Every reply that still waits, and all later ones, get `reason` (Unavailable) instead.
  void Abandon(const absl::Status& reason) { Fail(reason); }

  const Orchestrator& orchestrator() const { return orchestrator_; }
  CommitterHealth StoreHealth() const { return committer_.Health(); }
  static Moment Now() { return {MonotonicNow(), WallNow()}; }

 private:
  // Replies with what `call(effects)` decides, once that is durable.
  template <typename Response, typename Call>
  void Answer(Call call, Reply<Response> reply) {
    Effects effects;
    absl::StatusOr<Response> response = call(effects);
    Deliver(std::move(effects), nullptr,
            [response = std::move(response), reply = std::move(reply)](absl::Status status) {
              reply(status.ok() ? response : absl::StatusOr<Response>(status));
            });
  }
  // Logs and commits what a call of `worker` (nullptr: a person, or time) decided; `reply` leaves through the
  // gate.
  void Deliver(Effects effects, const std::string* worker, ReleaseGate::Reply reply);
  void Commit(std::uint64_t number, ChangeBatch changes);
  void Settled(std::uint64_t number, const absl::Status& status);
  void Fail(const absl::Status& status);
  // Work for those that listen; sent when it is durable.
  void PushWhenCommitted(std::map<std::string, v1::CoordinatorSync> pushes);
  void Tick();
  void Arm();

  Turn turn_;
  Orchestrator& orchestrator_;
  Committer& committer_;
  CoordinatorMetrics& metrics_;
  std::function<void(absl::Status)> fatal_;
  boost::asio::steady_timer timer_;
  Listeners listeners_;
  std::optional<Timestamp> armed_;
  bool stopped_ = true;
  ReleaseGate gate_;
  boost::asio::thread_pool answers_;  // One thread: what has been committed is told in its order.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_SHELL_H_
