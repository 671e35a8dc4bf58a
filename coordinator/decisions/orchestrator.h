// All decisions of the coordinator: what runs, on which worker, and what becomes of it.
//
// Passive: every call takes the time, changes the state in memory, and lists in Effects what is to be committed.
// The caller commits it and only then lets the reply out: that makes "acknowledged" mean "durable". There is no
// clock, timer, thread, lock, socket or SQL below, and nothing depends on the order of a hash table, so the
// daemon and a simulation run the same code and a seed gives the same history.
//
// This class only dispatches: each method runs one function of attempts/, scheduling/, sweeps/ or status/ on the
// State, and Finish() (sweeps/settle.h).
//
// Invariants (tests/coordinator/invariants.h checks them; the numbers are those of docs/ARCHITECTURE.md):
//  (1) a stage has at most one live token;
//  (2) a stage has at most one result;
//  (4) nothing with a stale token changes anything;
//  (5) results never change;
//  (6) slots and max_parallel are never exceeded;
//  (7) attempts stay within the retry policy;
//  (8) an evaluate stage is leased only when its training has SUCCEEDED with a checkpoint;
//  and a stage is PENDING or RUNNING only while some trial needs it.
//
// Thread safety: none; lives on the coordinator's thread.
#ifndef INLIER_COORDINATOR_DECISIONS_ORCHESTRATOR_H_
#define INLIER_COORDINATOR_DECISIONS_ORCHESTRATOR_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/check.h"
#include "base/status.h"
#include "coordinator/removal/removal.h"
#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"
#include "coordinator/status/cluster_view.h"
#include "coordinator/store/snapshot.h"
#include "coordinator/sweeps/settle.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "spec/sweep/sweep_edit.h"

namespace inlier {

// Fills an empty state from the store (recovery.cc). Live attempts get leases with a full term, to be claimed by their
// workers. DataLoss when the database cannot be right.
absl::Status Recover(Context& context, Snapshot snapshot);

// The rpc that has this request: Cancel of CancelRequest.
std::string RpcOf(const google::protobuf::Descriptor& request);

class Orchestrator {
 public:
  explicit Orchestrator(OrchestratorOptions options) : state_(std::move(options)) {}

  // Loads the stored state: once, before any other call.
  absl::Status Recover(Snapshot snapshot, Moment now, Effects& effects);

  // SubmitSweep (sweeps/submit.h).
  absl::StatusOr<v1::SubmitSweepResponse> OnSubmit(const v1::SubmitSweepRequest& request, Moment now,
                                                   Effects& effects,
                                                   std::optional<SweepGrid> grid = std::nullopt,
                                                   const Caller& caller = {});

  // How much of a sync to take; the caller holds back what the store cannot take now.
  struct SyncLimits {
    bool take_events = true;
    bool grant_leases = true;
    bool by_stream = false;  // Its worker can be sent the pushes of Offer().
    std::string caller{};    // Who sends it; empty: not known.
  };
  // A worker's sync. The errors of CheckSync (protocol/sync.h), which change nothing.
  absl::StatusOr<v1::CoordinatorSync> OnSync(const v1::WorkerSync& sync, Moment now, const SyncLimits& limits,
                                             Effects& effects);
  absl::StatusOr<v1::CoordinatorSync> OnSync(const v1::WorkerSync& sync, Moment now, Effects& effects) {
    return OnSync(sync, now, SyncLimits(), effects);
  }

  // A listening worker may be pushed new work (protocol/sync.h); a sync ends that. Harmless for an unknown worker.
  void SetListening(const std::string& incarnation, bool listening);
  // Offer (protocol/sync.h). Called after every other call, into the same effects.
  void Offer(Moment now, bool grant_leases, Effects& effects);

  // Runs `change`, a function of sweeps/, for a caller that may change the sweep or trial of its request; else
  // PermissionDenied (CheckOwner). A repeated request, by its request_id, gets the answer of the first; AlreadyExists
  // where its request_id was used for something else.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Change(absl::StatusOr<Response> (*change)(Context&, const Request&, const Caller&),
                                  const Request& request, Moment now, Effects& effects,
                                  const Caller& caller = {}) {
    return RunOnce<Response>(request, now, effects, caller,
                             [&](Context& context) { return change(context, request, caller); });
  }
  // The same of EditSweep with a grid: the checked grid of the new sweep. FailedPrecondition where the sweep
  // cannot become the new one (SweepEdit), or has been edited since request.revision.
  absl::StatusOr<v1::EditSweepResponse> OnEdit(const v1::EditSweepRequest& request, Moment now,
                                               Effects& effects, std::optional<SweepGrid> grid,
                                               const Caller& caller = {});
  // The same of ImportSweep (imports/import_sweep.h).
  absl::StatusOr<v1::ImportSweepResponse> OnImport(const v1::ImportSweepRequest& request, Moment now,
                                                   Effects& effects, std::optional<SweepGrid> grid,
                                                   const Caller& caller = {});

  // Drains jobs of a cluster's engine, and gives what there is to know about it then (status/cluster_view.h).
  ClusterView OnJobDrain(const JobDrain& drain, Moment now, Effects& effects);

  // Frees what removed sweeps alone needed, and lets the models of these trainings go (removal/removal.h).
  Freed OnFree(const std::vector<StageId>& models, Moment now, Effects& effects);

  // Of a call that a service outside the decisions answers: the answer that its request_id has had; nullopt: none.
  // AlreadyExists where the request_id was used for something else.
  absl::StatusOr<std::optional<std::string>> EarlierAnswer(const std::string& request_id,
                                                           const google::protobuf::Message& request) const;
  // Returns that answer, else `answer`, which is kept.
  absl::StatusOr<std::string> OnAnswer(const std::string& request_id,
                                       const google::protobuf::Message& request, std::string answer,
                                       Moment now, Effects& effects);

  void Tick(Moment now, Effects& effects);
  // Before the first call after the process was stopped (SIGSTOP, a frozen machine).
  void OnStandstill(Moment now, Effects& effects);

  // For the functions of status/ and for NextDeadline (state/feature.h).
  const State& state() const { return state_; }

 private:
  // Runs `decide(context)` as one call, and finishes it.
  template <typename Decide>
  auto Run(Moment now, Effects& effects, Decide decide) {
    Context context{state_, now, effects};
    auto result = decide(context);
    Finish(context);
    return result;
  }
  template <typename Response, typename Request, typename Decide>
  absl::StatusOr<Response> RunOnce(const Request& request, Moment now, Effects& effects, const Caller& caller,
                                   Decide decide) {
    RETURN_IF_ERROR(CheckOwner(state_, caller, request));
    ASSIGN_OR_RETURN(const std::optional<std::string> earlier, EarlierAnswer(request.request_id(), request));
    if (earlier) {
      Response response;
      INLIER_CHECK(response.ParseFromString(*earlier));
      return response;
    }
    absl::StatusOr<Response> response = Run(now, effects, decide);
    if (response.ok()) Keep(request.request_id(), request, response->SerializeAsString(), now, effects);
    return response;
  }
  // Keeps the answer of a request that has an id.
  void Keep(const std::string& request_id, const google::protobuf::Message& request, std::string answer,
            Moment now, Effects& effects);

  State state_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_DECISIONS_ORCHESTRATOR_H_
