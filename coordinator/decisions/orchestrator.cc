#include "coordinator/decisions/orchestrator.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/attempts/timers.h"
#include "coordinator/data/data_check.h"
#include "coordinator/decisions/recovery.h"
#include "coordinator/decisions/tick.h"
#include "coordinator/protocol/events.h"
#include "coordinator/protocol/offer.h"
#include "coordinator/protocol/sync.h"
#include "coordinator/scheduling/grant.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/sweeps/control.h"
#include "coordinator/sweeps/edit.h"
#include "coordinator/sweeps/settle.h"
#include "coordinator/sweeps/store_analysis.h"
#include "coordinator/sweeps/submit.h"

namespace inlier {
namespace {

// True when `batch` may wait in the committer's bulk lane.
bool IsBulk(const ChangeBatch& batch) {
  return std::all_of(batch.changes.begin(), batch.changes.end(), [](const Change& change) {
    return std::holds_alternative<MeasurementRow>(change) || std::holds_alternative<LogRow>(change) ||
           std::holds_alternative<WorkerAcknowledged>(change);
  });
}

// AlreadyExists when the id was used for something else; `digest` becomes that of the content.
absl::Status CheckRequest(const State& state, const char* method, const std::string& id,
                          const google::protobuf::Message& request, std::string& digest) {
  if (absl::Status fits = CheckRequestId(id); !fits.ok()) return fits;
  digest = ContentDigest(request);
  std::string used;
  if (const std::optional<SweepId> sweep = state.sweeps.FindRequest(id)) {
    used = absl::StrCat("the submission of sweep ", sweep->ToString());
  } else if (const RequestRow* earlier = state.requests.Find(id)) {
    if (earlier->method != method) {
      used = absl::StrCat("another call (", earlier->method, ")");
    } else if (earlier->digest != digest) {
      used = absl::StrCat("a ", method, " with other content");
    }
  }
  if (used.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("request_id ", id, " was used for ", used, "; use a new request_id"));
}

}  // namespace

template <typename Decide>
auto Orchestrator::Run(Moment now, Effects& effects, Decide decide) {
  Context context{state_, now, effects};
  auto result = decide(context);
  Finish(context);
  return result;
}

template <typename Response, typename Request, typename Decide>
absl::StatusOr<Response> Orchestrator::RunOnce(const char* method, const Request& request,
                                               const Caller& caller, Moment now, Effects& effects,
                                               Decide decide) {
  RETURN_IF_ERROR(CheckOwner(state_, caller, request));
  const std::string& id = request.request_id();
  if (id.empty()) return Run(now, effects, decide);
  std::string digest;
  if (absl::Status known = CheckRequest(state_, method, id, request, digest); !known.ok()) return known;
  if (const RequestRow* earlier = state_.requests.Find(id)) {
    Response response;
    INLIER_CHECK(response.ParseFromString(earlier->answer));
    return response;
  }
  absl::StatusOr<Response> response = Run(now, effects, decide);
  if (response.ok())
    effects.changes.Add(state_.requests.Add(id, method, digest, response->SerializeAsString(), now.wall));
  return response;
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

absl::StatusOr<v1::CancelResponse> Orchestrator::OnCancel(const v1::CancelRequest& request, Moment now,
                                                          Effects& effects, const Caller& caller) {
  return RunOnce<v1::CancelResponse>("Cancel", request, caller, now, effects,
                                     [&](Context& context) { return Cancel(context, request, caller); });
}

absl::StatusOr<v1::RetryResponse> Orchestrator::OnRetry(const v1::RetryRequest& request, Moment now,
                                                        Effects& effects, const Caller& caller) {
  return RunOnce<v1::RetryResponse>("Retry", request, caller, now, effects,
                                    [&](Context& context) { return Retry(context, request, caller); });
}

absl::StatusOr<v1::PauseSweepResponse> Orchestrator::OnPause(const v1::PauseSweepRequest& request, Moment now,
                                                             Effects& effects, const Caller& caller) {
  return RunOnce<v1::PauseSweepResponse>("PauseSweep", request, caller, now, effects, [&](Context& context) {
    return PauseSweep(context, request, caller);
  });
}

absl::StatusOr<v1::ResumeSweepResponse> Orchestrator::OnResume(const v1::ResumeSweepRequest& request,
                                                               Moment now, Effects& effects,
                                                               const Caller& caller) {
  return RunOnce<v1::ResumeSweepResponse>(
      "ResumeSweep", request, caller, now, effects,
      [&](Context& context) { return ResumeSweep(context, request, caller); });
}

absl::StatusOr<v1::EditSweepResponse> Orchestrator::OnEdit(const v1::EditSweepRequest& request, Moment now,
                                                           Effects& effects, std::optional<SweepGrid> grid,
                                                           const Caller& caller) {
  return RunOnce<v1::EditSweepResponse>("EditSweep", request, caller, now, effects, [&](Context& context) {
    return EditSweep(context, request, std::move(grid), caller);
  });
}

absl::StatusOr<v1::DrainWorkerResponse> Orchestrator::OnDrain(const v1::DrainWorkerRequest& request,
                                                              Moment now, Effects& effects,
                                                              const Caller& caller) {
  return RunOnce<v1::DrainWorkerResponse>("DrainWorker", request, caller, now, effects,
                                          [&](Context& context) { return DrainWorker(context, request); });
}

absl::StatusOr<v1::StoreAnalysisResponse> Orchestrator::OnStoreAnalysis(
    const v1::StoreAnalysisRequest& request, Moment now, Effects& effects, const Caller& caller) {
  return RunOnce<v1::StoreAnalysisResponse>(
      "StoreAnalysis", request, caller, now, effects,
      [&](Context& context) { return StoreAnalysis(context, request, caller.name); });
}

ClusterView Orchestrator::OnJobDrain(const JobDrain& drain, Moment now, Effects& effects) {
  return Run(now, effects, [&](Context& context) {
    DrainJobs(context, drain);
    return ViewCluster(context.state);
  });
}

absl::StatusOr<std::optional<std::string>> Orchestrator::EarlierAnswer(
    const char* method, const std::string& request_id, const google::protobuf::Message& request) const {
  std::optional<std::string> answer;
  if (request_id.empty()) return answer;
  std::string digest;
  RETURN_IF_ERROR(CheckRequest(state_, method, request_id, request, digest));
  if (const RequestRow* earlier = state_.requests.Find(request_id)) answer = earlier->answer;
  return answer;
}

absl::StatusOr<std::string> Orchestrator::OnAnswer(const char* method, const std::string& request_id,
                                                   const google::protobuf::Message& request,
                                                   std::string answer, Moment now, Effects& effects) {
  ASSIGN_OR_RETURN(std::optional<std::string> earlier, EarlierAnswer(method, request_id, request));
  if (earlier) return *std::move(earlier);
  if (!request_id.empty())
    effects.changes.Add(state_.requests.Add(request_id, method, ContentDigest(request), answer, now.wall));
  return answer;
}

absl::StatusOr<v1::CoordinatorSync> Orchestrator::OnSync(const v1::WorkerSync& sync, Moment now,
                                                         const SyncLimits& limits, Effects& effects) {
  ASSIGN_OR_RETURN(WorkerEntry* const known, CheckSync(state_, sync, limits.caller));
  Context context{state_, now, effects};
  const bool is_new = known == nullptr;
  WorkerEntry& worker = is_new ? state_.workers.FindOrAdd(sync.incarnation()) : *known;
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
