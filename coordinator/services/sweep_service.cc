#include "coordinator/services/sweep_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/state/request_limits.h"
#include "coordinator/tables/table_builder.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

constexpr std::uint32_t kQueryRowsMax = 1'000'000;
constexpr std::uint32_t kLogLinesMax = 100'000;

// A watch that is refused.
class RefusedWatch final : public grpc::ServerWriteReactor<v1::SweepUpdate> {
 public:
  explicit RefusedWatch(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

template <typename Response, typename Look>
SweepService::Unary* SweepService::Show(Context* context, const char* method, Response* response, Look look) {
  return calls_.OnLoop(context, method, response, [this, look = std::move(look)](Reply<Response> reply) {
    absl::StatusOr<Response> seen = look(calls_.loop().orchestrator());
    calls_.loop().AfterCommit([seen = std::move(seen), reply = std::move(reply)](absl::Status status) {
      reply(status.ok() ? seen : absl::StatusOr<Response>(status));
    });
  });
}

template <typename Request, typename Response>
SweepService::Unary* SweepService::Change(
    Context* context, const char* method, const Request* request, Response* response,
    absl::StatusOr<Response> (Orchestrator::*decide)(const Request&, Moment, Effects&)) {
  return calls_.OnLoop(context, method, response, [this, request, decide](Reply<Response> reply) {
    if (absl::Status fits = CheckWords(*request); !fits.ok()) return reply(std::move(fits));
    calls_.loop().Decide(decide, *request, std::move(reply));
  });
}

SweepService::Unary* SweepService::SubmitSweep(Context* context, const v1::SubmitSweepRequest* request,
                                               v1::SubmitSweepResponse* response) {
  return calls_.OnCaller(
      context, "SubmitSweep", response, [this, request](Reply<v1::SubmitSweepResponse> reply) {
        if (request->request_id().size() > kRequestIdBytesMax) {
          reply(absl::InvalidArgumentError(
              absl::StrCat("request_id may have ", kRequestIdBytesMax, " bytes; a uuid has 36")));
          return;
        }
        if (const absl::Status limits = CheckLimits(request->sweep()); !limits.ok()) {
          reply(limits);
          return;
        }
        absl::StatusOr<SweepGrid> grid = CheckedGrid(request->sweep());
        if (!grid.ok()) {
          reply(grid.status());
          return;
        }
        calls_.loop().Post([this, request, grid = *std::move(grid), reply = std::move(reply)]() mutable {
          calls_.loop().Submit(*request, std::move(grid), std::move(reply));
        });
      });
}

SweepService::Unary* SweepService::ListSweeps(Context* context, const v1::ListSweepsRequest* request,
                                              v1::ListSweepsResponse* response) {
  return Show(context, "ListSweeps", response,
              [request](const Orchestrator& orchestrator) -> absl::StatusOr<v1::ListSweepsResponse> {
                RETURN_IF_ERROR(CheckWords(*request));
                return orchestrator.ListSweeps(*request);
              });
}

SweepService::Unary* SweepService::GetSweep(Context* context, const v1::GetSweepRequest* request,
                                            v1::SweepStatus* response) {
  return Show(context, "GetSweep", response,
              [request](const Orchestrator& orchestrator) -> absl::StatusOr<v1::SweepStatus> {
                RETURN_IF_ERROR(CheckWords(*request));
                ASSIGN_OR_RETURN(const SweepId sweep, orchestrator.FindSweep(request->sweep()));
                return orchestrator.Status(sweep, /*with_spec=*/true);
              });
}

SweepService::Unary* SweepService::ListTrials(Context* context, const v1::ListTrialsRequest* request,
                                              v1::ListTrialsResponse* response) {
  return calls_.OnPool(context, "ListTrials", response,
                       [this, request]() -> absl::StatusOr<v1::ListTrialsResponse> {
                         RETURN_IF_ERROR(CheckWords(*request));
                         return reader_.ListTrials(*request);
                       });
}

grpc::ServerWriteReactor<v1::SweepUpdate>* SweepService::WatchSweep(Context* context,
                                                                    const v1::WatchSweepRequest* request) {
  if (const absl::Status admitted = calls_.Admit(*context, "WatchSweep"); !admitted.ok())
    return new RefusedWatch(admitted);
  if (const absl::Status fits = CheckWords(*request); !fits.ok()) {
    calls_.Observe("WatchSweep", ToGrpcStatus(fits), MonotonicNow());
    return new RefusedWatch(fits);
  }
  return watches_.Open(*request);
}

SweepService::Unary* SweepService::Cancel(Context* context, const v1::CancelRequest* request,
                                          v1::CancelResponse* response) {
  return Change(context, "Cancel", request, response, &Orchestrator::OnCancel);
}

SweepService::Unary* SweepService::Retry(Context* context, const v1::RetryRequest* request,
                                         v1::RetryResponse* response) {
  return Change(context, "Retry", request, response, &Orchestrator::OnRetry);
}

SweepService::Unary* SweepService::PauseSweep(Context* context, const v1::PauseSweepRequest* request,
                                              v1::PauseSweepResponse* response) {
  return Change(context, "PauseSweep", request, response, &Orchestrator::OnPause);
}

SweepService::Unary* SweepService::ResumeSweep(Context* context, const v1::ResumeSweepRequest* request,
                                               v1::ResumeSweepResponse* response) {
  return Change(context, "ResumeSweep", request, response, &Orchestrator::OnResume);
}

SweepService::Unary* SweepService::EditSweep(Context* context, const v1::EditSweepRequest* request,
                                             v1::EditSweepResponse* response) {
  return calls_.OnCaller(context, "EditSweep", response, [this, request](Reply<v1::EditSweepResponse> reply) {
    absl::Status status = CheckWords(*request);
    if (status.ok()) status = CheckLimits(request->spec());
    if (!status.ok()) {
      reply(status);
      return;
    }
    auto grid = CheckedGrid(request->spec());
    if (!grid.ok()) {
      reply(grid.status());
      return;
    }
    calls_.loop().Post([this, request, grid = *std::move(grid), reply = std::move(reply)]() mutable {
      calls_.loop().Edit(*request, std::move(grid), reply);
    });
  });
}

SweepService::Unary* SweepService::Explain(Context* context, const v1::ExplainRequest* request,
                                           v1::Explanation* response) {
  return calls_.OnLoop(context, "Explain", response, [this, request](Reply<v1::Explanation> reply) {
    if (absl::Status fits = CheckWords(*request); !fits.ok()) return reply(std::move(fits));
    absl::StatusOr<v1::Explanation> seen =
        calls_.loop().orchestrator().Explain(*request, CoordinatorLoop::Now());
    calls_.loop().AfterCommit([this, request, seen = std::move(seen), reply](absl::Status status) {
      if (!status.ok() || !seen.ok() || !request->has_trial()) {
        reply(status.ok() ? seen : absl::StatusOr<v1::Explanation>(status));
        return;
      }
      // Past attempts are in the database alone.
      const auto add_attempts = [this, request, explanation = *seen, reply]() mutable {
        const absl::Status added = reader_.AddPastAttempts(request->trial(), explanation);
        reply(added.ok() ? absl::StatusOr<v1::Explanation>(std::move(explanation)) : added);
      };
      calls_.RunBlocking(add_attempts, reply);
    });
  });
}

SweepService::Unary* SweepService::DrainWorker(Context* context, const v1::DrainWorkerRequest* request,
                                               v1::DrainWorkerResponse* response) {
  return Change(context, "DrainWorker", request, response, &Orchestrator::OnDrain);
}

SweepService::Unary* SweepService::ListWorkers(Context* context, const v1::ListWorkersRequest*,
                                               v1::ListWorkersResponse* response) {
  return Show(context, "ListWorkers", response,
              [](const Orchestrator& orchestrator) -> absl::StatusOr<v1::ListWorkersResponse> {
                return orchestrator.ListWorkers();
              });
}

SweepService::Unary* SweepService::Query(Context* context, const v1::QueryRequest* request,
                                         v1::QueryResponse* response) {
  return calls_.OnPool(context, "Query", response, [this, request] {
    QueryLimits limits;
    limits.rows = std::clamp<std::uint32_t>(request->max_rows(), 1, kQueryRowsMax);
    return reader_.Query(request->sql(), limits);
  });
}

SweepService::Unary* SweepService::BuildTable(Context* context, const v1::BuildTableRequest* request,
                                              v1::Table* response) {
  return calls_.OnPool(context, "BuildTable", response, [this, request]() -> absl::StatusOr<v1::Table> {
    RETURN_IF_ERROR(CheckWords(*request));
    RETURN_IF_ERROR(CheckLimits(request->table()));
    ASSIGN_OR_RETURN(const SweepId sweep, reader_.FindSweep(request->sweep()));
    return inlier::BuildTable(reader_, sweep, request->table());
  });
}

SweepService::Unary* SweepService::GetLogs(Context* context, const v1::GetLogsRequest* request,
                                           v1::GetLogsResponse* response) {
  return calls_.OnPool(
      context, "GetLogs", response, [this, request]() -> absl::StatusOr<v1::GetLogsResponse> {
        RETURN_IF_ERROR(CheckWords(*request));
        ASSIGN_OR_RETURN(const TrialId trial, reader_.FindTrial(request->trial()));
        return reader_.Logs(trial, std::clamp<std::uint32_t>(request->max_lines(), 1, kLogLinesMax));
      });
}

}  // namespace inlier
