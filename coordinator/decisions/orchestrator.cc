#include "coordinator/decisions/orchestrator.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/deliberate_bug.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/attempts/timers.h"
#include "coordinator/data/data_check.h"
#include "coordinator/imports/import_sweep.h"
#include "coordinator/protocol/events.h"
#include "coordinator/protocol/sync.h"
#include "coordinator/scheduling/grant.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/sweeps/control.h"
#include "coordinator/sweeps/edit.h"
#include "coordinator/sweeps/submit.h"

namespace inlier {
namespace {

// True when `batch` may wait in the committer's bulk lane.
bool IsBulk(const ChangeBatch& batch) {
  return std::ranges::all_of(batch.changes, [](const Change& change) {
    return std::holds_alternative<MeasurementRow>(change) || std::holds_alternative<LogRow>(change) ||
           std::holds_alternative<WorkerAcknowledged>(change);
  });
}

}  // namespace

std::string RpcOf(const google::protobuf::Descriptor& request) {
  return std::string(absl::StripSuffix(request.name(), "Request"));
}

absl::Status Orchestrator::Recover(Snapshot snapshot, Moment now, Effects& effects) {
  return Run(now, effects, [&](Context& context) { return inlier::Recover(context, std::move(snapshot)); });
}

absl::StatusOr<v1::SubmitSweepResponse> Orchestrator::OnSubmit(const v1::SubmitSweepRequest& request,
                                                               Moment now, Effects& effects,
                                                               std::optional<SweepGrid> grid,
                                                               const Caller& caller) {
  return Run(now, effects,
             [&](Context& context) { return SubmitSweep(context, request, std::move(grid), caller); });
}

absl::StatusOr<v1::EditSweepResponse> Orchestrator::OnEdit(const v1::EditSweepRequest& request, Moment now,
                                                           Effects& effects, std::optional<SweepGrid> grid,
                                                           const Caller& caller) {
  return RunOnce<v1::EditSweepResponse>(request, now, effects, caller, [&](Context& context) {
    return EditSweep(context, request, std::move(grid), caller);
  });
}

absl::StatusOr<v1::ImportSweepResponse> Orchestrator::OnImport(const v1::ImportSweepRequest& request,
                                                               Moment now, Effects& effects,
                                                               std::optional<SweepGrid> grid,
                                                               const Caller& caller) {
  return RunOnce<v1::ImportSweepResponse>(request, now, effects, caller, [&](Context& context) {
    return ImportSweep(context, request, *grid, caller);
  });
}

ClusterView Orchestrator::OnJobDrain(const JobDrain& drain, Moment now, Effects& effects) {
  return Run(now, effects, [&](Context& context) {
    DrainJobs(context, drain);
    return ViewCluster(context.state);
  });
}

Freed Orchestrator::OnFree(const std::vector<StageId>& models, Moment now, Effects& effects) {
  return Run(now, effects, [&](Context& context) { return Free(context, models); });
}

absl::StatusOr<std::optional<std::string>> Orchestrator::EarlierAnswer(
    const std::string& request_id, const google::protobuf::Message& request) const {
  std::optional<std::string> answer;
  if (request_id.empty()) return answer;
  RETURN_IF_ERROR(CheckRequestId(request_id));
  std::string used;
  if (const std::optional<SweepId> sweep = state_.sweeps.FindRequest(request_id)) {
    used = absl::StrCat("the submission of sweep ", sweep->ToString());
  } else if (const RequestRow* earlier = state_.requests.Find(request_id)) {
    if (const std::string rpc = RpcOf(*request.GetDescriptor()); earlier->method != rpc) {
      used = absl::StrCat("another call (", earlier->method, ")");
    } else if (earlier->digest != ContentDigest(request)) {
      used = absl::StrCat("a ", rpc, " with other content");
    } else {
      answer = earlier->answer;
    }
  }
  if (used.empty()) return answer;
  return absl::AlreadyExistsError(
      absl::StrCat("request_id ", request_id, " was used for ", used, "; use a new request_id"));
}

void Orchestrator::Keep(const std::string& request_id, const google::protobuf::Message& request,
                        std::string answer, Moment now, Effects& effects) {
  if (request_id.empty()) return;
  effects.changes.Add(state_.requests.Add(request_id, RpcOf(*request.GetDescriptor()), ContentDigest(request),
                                          std::move(answer), now.wall));
}

absl::StatusOr<std::string> Orchestrator::OnAnswer(const std::string& request_id,
                                                   const google::protobuf::Message& request,
                                                   std::string answer, Moment now, Effects& effects) {
  ASSIGN_OR_RETURN(std::optional<std::string> earlier, EarlierAnswer(request_id, request));
  if (earlier) return *std::move(earlier);
  Keep(request_id, request, answer, now, effects);
  return answer;
}

absl::StatusOr<v1::CoordinatorSync> Orchestrator::OnSync(const v1::WorkerSync& sync, Moment now,
                                                         const SyncLimits& limits, Effects& effects) {
  const absl::StatusOr<WorkerEntry*> known = CheckSync(state_, sync, limits.caller);
  if (!known.ok()) {
    ++state_.stats.syncs_refused;
    return known.status();
  }
  Context context{state_, now, effects};
  const bool is_new = *known == nullptr;
  WorkerEntry& worker = state_.workers.FindOrAdd(sync.incarnation());
  if (worker.owner.empty() && !limits.caller.empty()) state_.workers.SetOwner(worker, limits.caller);
  worker.listening = false;
  RefreshOffer(state_, worker);
  // A sync that arrives twice or after a later one adds nothing but the events that the later one left out.
  const bool fresh = is_new || sync.sync_id() > worker.sync.id || INLIER_BUG("stale_sync_accepted");
  if (fresh) {
    UpdateWorker(context, worker, sync, is_new);
    TakeReports(context, worker, sync);
    TakeDataChecked(context, worker, sync);
  }
  if (limits.take_events) TakeEvents(context, worker, sync);
  if (fresh) EndForgottenYields(context, worker, sync);
  SettleSweeps(context);
  if (fresh && limits.grant_leases) {
    FillSlots(context, worker);
    AskForData(context, &worker);
  }
  Finish(context);
  if (!effects.changes.empty()) {
    effects.workers.insert(worker.incarnation);
    if (IsBulk(effects.changes)) effects.changes.lane = Lane::kBulk;
  }
  return AnswerSync(state_, worker, sync, limits.by_stream);
}

void Orchestrator::SetListening(const std::string& incarnation, bool listening) {
  WorkerEntry* worker = state_.workers.Find(incarnation);
  if (worker == nullptr) return;
  worker->listening = listening;
  RefreshOffer(state_, *worker);
}

void Orchestrator::Offer(Moment now, bool grant_leases, Effects& effects) {
  Context context{state_, now, effects};
  inlier::Offer(context, grant_leases);
  Finish(context);
}

void Orchestrator::OnStandstill(Moment now, Effects& effects) {
  Context context{state_, now, effects};
  RenewAllTerms(context);
}

void Orchestrator::Tick(Moment now, Effects& effects) {
  Context context{state_, now, effects};
  inlier::Tick(context);
  Finish(context);
}

}  // namespace inlier
