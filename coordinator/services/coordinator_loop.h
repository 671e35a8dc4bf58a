// The one place that changes the state: calls the orchestrator, commits its decisions, and sends the replies.
//
// gRPC's threads only Post to it. Each call runs to its end on the coordinator's thread; its changes go to
// the committer, whose thread writes them; its reply leaves from the coordinator's thread when they are
// durable, and with them every earlier change that it shows (release_gate.h).
// While the disk is full leases are still renewed, but no events are taken and nothing new is granted or
// submitted. A change that can never be committed ends the process: the store would contradict the memory.
//
// Thread safety: Post and Run from any thread; everything else on the coordinator's thread.
#ifndef INLIER_COORDINATOR_SERVICES_COORDINATOR_LOOP_H_
#define INLIER_COORDINATOR_SERVICES_COORDINATOR_LOOP_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
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
#include "coordinator/orchestrator.h"
#include "coordinator/services/listeners.h"
#include "coordinator/services/release_gate.h"
#include "coordinator/services/serial_executor.h"
#include "coordinator/store/committer.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Called once, with the response of a call or why there is none.
template <typename T>
using Reply = std::function<void(absl::StatusOr<T>)>;

class CoordinatorLoop {
 public:
  // All outlive the loop. `fatal` is called at most once, with why the process must end. Recovered
  // orchestrators only.
  CoordinatorLoop(boost::asio::io_context& io, Orchestrator& orchestrator, Committer& committer,
                  CoordinatorMetrics& metrics, std::function<void(absl::Status)> fatal);

  // See serial_executor.h.
  template <typename Call>
  void Post(Call call) {
    executor_.Post(std::move(call));
  }
  template <typename Call>
  auto Run(Call call) {
    return executor_.Run(std::move(call));
  }

  // `grid`: CheckedGrid of the sweep in the request.
  void Submit(const v1::SubmitSweepRequest& request, SweepGrid grid, Reply<v1::SubmitSweepResponse> reply);
  void Edit(const v1::EditSweepRequest& request, SweepGrid grid, Reply<v1::EditSweepResponse> reply);
  void Sync(const v1::WorkerSync& sync, bool by_stream, Reply<v1::CoordinatorSync> reply);
  // The worker's stream has its answer and waits: new work is pushed to it until its next sync.
  void Listen(const std::string& incarnation, Listeners::Place place);
  // That stream has ended: nothing is leased to its worker before its next sync.
  void Unlisten(const std::string& incarnation, const Listener* ended);
  // Every other call that changes something: `method` is the orchestrator's.
  template <typename Request, typename Response>
  void Decide(absl::StatusOr<Response> (Orchestrator::*method)(const Request&, Moment, Effects&),
              const Request& request, Reply<Response> reply) {
    Answer<Response>([&](Effects& effects) { return (orchestrator_.*method)(request, Now(), effects); },
                     std::move(reply));
  }

  // Runs `call` when everything decided so far is durable, within this call or later; with an error when it
  // never will be.
  void AfterCommit(std::function<void(absl::Status)> call);

  // Commits the `effects` of recovery, and starts the timer.
  void Start(Effects effects);
  // Stops the timer. Calls still work.
  void Stop();
  // Every waiting reply, and all later ones, get `reason` (Unavailable) instead.
  void Abandon(const absl::Status& reason) { Fail(reason); }

  const Orchestrator& orchestrator() const { return orchestrator_; }
  CommitterHealth StoreHealth() const { return committer_.Health(); }
  static Moment Now() { return {MonotonicNow(), WallNow()}; }

 private:
  // Replies with the response of `call(effects)`, once it is durable.
  template <typename Response, typename Call>
  void Answer(Call call, Reply<Response> reply) {
    Effects effects;
    absl::StatusOr<Response> response = call(effects);
    Deliver(std::move(effects), nullptr,
            [response = std::move(response), reply = std::move(reply)](absl::Status status) {
              reply(status.ok() ? response : absl::StatusOr<Response>(status));
            });
  }
  // Logs and commits the decisions of a call by `worker` (nullptr: a user, or the clock); `reply` leaves
  // through the gate.
  void Deliver(Effects effects, const std::string* worker, ReleaseGate::Reply reply);
  void Settled(std::uint64_t number, const absl::Status& status);
  void Fail(const absl::Status& status);
  // Sends new work to listening workers when it is durable.
  void PushWhenCommitted(std::map<std::string, v1::CoordinatorSync> pushes);
  void Tick();
  void Arm();

  SerialExecutor executor_;
  Orchestrator& orchestrator_;
  Committer& committer_;
  CoordinatorMetrics& metrics_;
  std::function<void(absl::Status)> fatal_;
  boost::asio::steady_timer timer_;
  Listeners listeners_;
  std::optional<Timestamp> armed_;
  bool stopped_ = true;
  ReleaseGate gate_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_COORDINATOR_LOOP_H_
