#include "coordinator/services/sweep_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/request_limits.h"
#include "coordinator/state/request_log.h"
#include "coordinator/status/explain.h"
#include "coordinator/status/status.h"
#include "coordinator/tables/table_builder.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

constexpr std::uint32_t kQueryRowsMax = 1'000'000;
constexpr std::uint32_t kLogLinesMax = 100'000;

class SweepService final : public v1::SweepService::CallbackService {
 public:
  SweepService(Calls& calls, WatchHub& watches, Reader& reader, QueryProcesses& queries)
      : calls_(calls), watches_(watches), reader_(reader), queries_(queries) {}

 private:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  // Replies with the result of `look(orchestrator)`, once it is durable.
  template <typename Request, typename Response, typename Look>
  Unary* Show(Context* context, const char* method, const Request* request, Response* response, Look look) {
    return calls_.OnLoop(context, method, response, [this, request, look](Reply<Response> reply) {
      if (absl::Status fits = CheckWords(*request); !fits.ok()) return reply(std::move(fits));
      absl::StatusOr<Response> seen = look(calls_.loop().orchestrator());
      calls_.loop().AfterCommit([seen = std::move(seen), reply = std::move(reply)](absl::Status status) {
        reply(status.ok() ? seen : absl::StatusOr<Response>(status));
      });
    });
  }

  // Replies with the result of `read()`, which reads the database, on `pool`.
  template <typename Request, typename Response, typename Read>
  Unary* ReadStored(BlockingPool& pool, Context* context, const char* method, const Request* request,
                    Response* response, Read read) {
    return calls_.OnPool(pool, context, method, response, [request, read]() -> absl::StatusOr<Response> {
      RETURN_IF_ERROR(CheckWords(*request));
      return read();
    });
  }

  // Replies with the result of the orchestrator's `decide`, once it is durable.
  template <typename Request, typename Response>
  Unary* Change(Context* context, const char* method, const Request* request, Response* response,
                absl::StatusOr<Response> (Orchestrator::*decide)(const Request&, Moment, Effects&,
                                                                 const Caller&)) {
    return calls_.OnAdmitted(context, method, response, [=, this](const Caller& who, Reply<Response> reply) {
      calls_.loop().Post([=, this, caller = who, row = Audit::RowOf(who, method, request)] {
        calls_.DecideAudited(
            row, *request,
            [&](Orchestrator& orchestrator, Moment now, Effects& effects) -> absl::StatusOr<Response> {
              RETURN_IF_ERROR(CheckWords(*request));
              return (orchestrator.*decide)(*request, now, effects, caller);
            },
            reply);
      });
    });
  }

  // The same for a request with a sweep. On gRPC's thread `check` looks at the rest of the request, and `decide`
  // gets the grid that was made there.
  template <typename Request, typename Response, typename Check>
  Unary* ChangeSweep(Context* context, const char* method, const Request* request, const v1::SweepSpec& sweep,
                     Check check, Response* response,
                     absl::StatusOr<Response> (Orchestrator::*decide)(const Request&, Moment, Effects&,
                                                                      std::optional<SweepGrid>,
                                                                      const Caller&)) {
    const auto make_grid = [check, &sweep]() -> absl::StatusOr<SweepGrid> {
      RETURN_IF_ERROR(check());
      RETURN_IF_ERROR(CheckLimits(sweep));
      return CheckedGrid(sweep);
    };
    return calls_.OnAdmitted(context, method, response, [=, this](const Caller& who, Reply<Response> reply) {
      calls_.loop().Post(
          [=, this, caller = who, row = Audit::RowOf(who, method, request), grid = make_grid()]() mutable {
            calls_.DecideAudited(
                row, *request,
                [&](Orchestrator& orchestrator, Moment now, Effects& effects) -> absl::StatusOr<Response> {
                  RETURN_IF_ERROR(grid.status());
                  return (orchestrator.*decide)(*request, now, effects, *std::move(grid), caller);
                },
                reply);
          });
    });
  }

  absl::Status CheckSubmission(const v1::SubmitSweepRequest& request) {
    RETURN_IF_ERROR(CheckRequestId(request.request_id()));
    return Annotate(calls_.loop().StoreHealth().status,
                    "while storing the sweep; nothing was stored, submit it again when there is space");
  }

  Unary* SubmitSweep(Context* context, const v1::SubmitSweepRequest* request,
                     v1::SubmitSweepResponse* response) override {
    const auto check = [this, request] { return CheckSubmission(*request); };
    return ChangeSweep(context, "SubmitSweep", request, request->sweep(), check, response,
                       &Orchestrator::OnSubmit);
  }

  Unary* ListSweeps(Context* context, const v1::ListSweepsRequest* request,
                    v1::ListSweepsResponse* response) override {
    return Show(context, "ListSweeps", request, response, [request](const Orchestrator& orchestrator) {
      return inlier::ListSweeps(orchestrator.state(), *request);
    });
  }

  Unary* GetSweep(Context* context, const v1::GetSweepRequest* request, v1::SweepStatus* response) override {
    return Show(context, "GetSweep", request, response,
                [request](const Orchestrator& orchestrator) -> absl::StatusOr<v1::SweepStatus> {
                  ASSIGN_OR_RETURN(const SweepId sweep, FindSweep(orchestrator.state(), request->sweep()));
                  return StatusOf(orchestrator.state(), sweep, /*with_spec=*/true);
                });
  }

  Unary* ListTrials(Context* context, const v1::ListTrialsRequest* request,
                    v1::ListTrialsResponse* response) override {
    return ReadStored(calls_.reads(), context, "ListTrials", request, response,
                      [this, request] { return reader_.ListTrials(*request); });
  }

  grpc::ServerWriteReactor<v1::SweepUpdate>* WatchSweep(Context* context,
                                                        const v1::WatchSweepRequest* request) override {
    absl::Status status = calls_.access().Admit(*context, "WatchSweep").status();
    if (status.ok()) status = CheckWords(*request);
    return watches_.Open(*request, status);
  }

  Unary* Cancel(Context* context, const v1::CancelRequest* request, v1::CancelResponse* response) override {
    return Change(context, "Cancel", request, response, &Orchestrator::OnCancel);
  }

  Unary* Retry(Context* context, const v1::RetryRequest* request, v1::RetryResponse* response) override {
    return Change(context, "Retry", request, response, &Orchestrator::OnRetry);
  }

  Unary* PauseSweep(Context* context, const v1::PauseSweepRequest* request,
                    v1::PauseSweepResponse* response) override {
    return Change(context, "PauseSweep", request, response, &Orchestrator::OnPause);
  }

  Unary* ResumeSweep(Context* context, const v1::ResumeSweepRequest* request,
                     v1::ResumeSweepResponse* response) override {
    return Change(context, "ResumeSweep", request, response, &Orchestrator::OnResume);
  }

  Unary* EditSweep(Context* context, const v1::EditSweepRequest* request,
                   v1::EditSweepResponse* response) override {
    const auto check = [request] { return CheckWords(*request); };
    return ChangeSweep(context, "EditSweep", request, request->spec(), check, response,
                       &Orchestrator::OnEdit);
  }

  Unary* Explain(Context* context, const v1::ExplainRequest* request, v1::Explanation* response) override {
    return calls_.OnLoop(context, "Explain", response, [this, request](Reply<v1::Explanation> reply) {
      if (absl::Status fits = CheckWords(*request); !fits.ok()) return reply(std::move(fits));
      absl::StatusOr<v1::Explanation> seen =
          inlier::Explain(calls_.loop().orchestrator().state(), *request, CoordinatorLoop::Now());
      calls_.loop().AfterCommit([this, request, seen = std::move(seen), reply](absl::Status status) {
        if (!status.ok()) return reply(status);
        if (!seen.ok() || !request->has_trial()) return reply(seen);
        // Past attempts are in the database alone.
        const auto add_attempts = [this, request, explanation = *seen, reply]() mutable {
          const absl::Status added = reader_.AddPastAttempts(request->trial(), explanation);
          reply(added.ok() ? absl::StatusOr<v1::Explanation>(std::move(explanation)) : added);
        };
        calls_.reads().Run(add_attempts, reply);
      });
    });
  }

  Unary* DrainWorker(Context* context, const v1::DrainWorkerRequest* request,
                     v1::DrainWorkerResponse* response) override {
    return Change(context, "DrainWorker", request, response, &Orchestrator::OnDrain);
  }

  Unary* ListWorkers(Context* context, const v1::ListWorkersRequest* request,
                     v1::ListWorkersResponse* response) override {
    return Show(context, "ListWorkers", request, response,
                [](const Orchestrator& orchestrator) { return inlier::ListWorkers(orchestrator.state()); });
  }

  Unary* Query(Context* context, const v1::QueryRequest* request, v1::QueryResponse* response) override {
    return ReadStored(calls_.queries(), context, "Query", request, response, [this, context, request] {
      QueryLimits limits;
      limits.rows = std::clamp<std::uint32_t>(request->max_rows(), 1, kQueryRowsMax);
      return queries_.Run(request->sql(), limits, [context] { return context->IsCancelled(); });
    });
  }

  Unary* BuildTable(Context* context, const v1::BuildTableRequest* request, v1::Table* response) override {
    return ReadStored(calls_.tables(), context, "BuildTable", request, response,
                      [this, context, request]() -> absl::StatusOr<v1::Table> {
                        RETURN_IF_ERROR(CheckLimits(request->table()));
                        ASSIGN_OR_RETURN(const SweepId sweep, reader_.FindSweep(request->sweep()));
                        return inlier::BuildTable(reader_, sweep, request->table(),
                                                  [context] { return context->IsCancelled(); });
                      });
  }

  Unary* GetLogs(Context* context, const v1::GetLogsRequest* request,
                 v1::GetLogsResponse* response) override {
    return ReadStored(
        calls_.reads(), context, "GetLogs", request, response,
        [this, request]() -> absl::StatusOr<v1::GetLogsResponse> {
          ASSIGN_OR_RETURN(const TrialId trial, reader_.FindTrial(request->trial()));
          return reader_.Logs(trial, std::clamp<std::uint32_t>(request->max_lines(), 1, kLogLinesMax));
        });
  }

  Calls& calls_;
  WatchHub& watches_;
  Reader& reader_;
  QueryProcesses& queries_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSweepService(Calls& calls, WatchHub& watches, Reader& reader,
                                                QueryProcesses& queries) {
  return std::make_unique<SweepService>(calls, watches, reader, queries);
}

}  // namespace inlier
