#include "coordinator/services/sweep_service.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "coordinator/imports/import_sweep.h"
#include "coordinator/removal/removal.h"
#include "coordinator/search/search.h"
#include "coordinator/services/request_limits.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/request_log.h"
#include "coordinator/status/explain.h"
#include "coordinator/status/status.h"
#include "coordinator/store/sweep_matrix.h"
#include "coordinator/sweeps/control.h"
#include "coordinator/sweeps/label.h"
#include "coordinator/sweeps/store_analysis.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "results/tables/table_builder.h"
#include "spec/program/program_columns.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

constexpr std::uint32_t kQueryRowsMax = 1'000'000;
constexpr std::uint32_t kLogLinesMax = 100'000;
constexpr std::size_t kNoteBytesMax = 4096;  // gRPC refuses metadata of more than 8 KiB.

class SweepService {
 public:
  SweepService(Calls& calls, Reader& reader, QueryProcesses& queries, FleetService& fleet)
      : calls_(calls), reader_(reader), queries_(queries), fleet_(fleet) {}

  template <typename Request>
  static constexpr bool kNamesSweep = requires(const Request& request, std::string name) {
    name = request.sweep();
  };

  // Sends the caller a note on each sweep name in the request that several sweeps have. On the coordinator's
  // thread, before the reply.
  template <typename Request>
  void NoteNames(UnaryContext* context, const Request& request) {
    if constexpr (kNamesSweep<Request>) {
      std::vector<std::string> names = {request.sweep()};
      if constexpr (requires { request.more_sweeps(); })
        names.insert(names.end(), request.more_sweeps().begin(), request.more_sweeps().end());
      const Caller& caller = context->caller();
      const bool may_own = caller.role != RoleName(Role::kRead);
      std::size_t bytes = 0;
      for (const std::string& name : names) {
        const State& state = calls_.loop().orchestrator().state();
        const std::string note = NoteOnName(state, name, caller.name, may_own);
        bytes += note.size();
        if (!note.empty() && bytes <= kNoteBytesMax)
          context->server_context().AddTrailingMetadata(kNoteHeader, note);
      }
    }
  }

  // Replies with the result of `look(orchestrator)`, once it is durable.
  template <typename Request, typename Response, typename Look>
  void Show(UnaryContext* context, const Request* request, Response* response, Look look) {
    return calls_.OnLoop(context, response, [=, this](Reply<Response> reply) {
      if (absl::Status fits = CheckWords(*request); !fits.ok()) return reply(std::move(fits));
      NoteNames(context, *request);
      calls_.loop().Show(look, std::move(reply));
    });
  }

  // Replies with the result of `read()`, which reads the database, on `pool`.
  template <typename Request, typename Response, typename Read>
  void ReadStored(BlockingPool& pool, UnaryContext* context, const Request* request, Response* response,
                  Read read) {
    const auto checked = [request, read]() -> absl::StatusOr<Response> {
      RETURN_IF_ERROR(CheckWords(*request));
      return read();
    };
    if constexpr (!kNamesSweep<Request>) return calls_.OnPool(pool, context, response, checked);
    return calls_.OnLoop(context, response, [=, this, &pool](Reply<Response> reply) {
      NoteNames(context, *request);
      pool.Run(
          context->caller().name, [checked, reply] { reply(checked()); }, reply);
    });
  }

  // Replies with the result of `decide(orchestrator, now, effects)` on the coordinator's thread, once it is
  // durable with its row of the audit.
  template <typename Request, typename Response, typename Decide>
  void Audited(UnaryContext* context, const Request* request, Reply<Response> reply, Decide decide) {
    calls_.loop().Post([this, request, reply = std::move(reply), decide = std::move(decide),
                        row = Audit::RowOf(context->caller(), context->method(), request)]() mutable {
      calls_.DecideAudited(row, *request, std::move(decide), std::move(reply));
    });
  }

  // Replies with the result of `change`, a function of sweeps/, once it is durable.
  template <typename Request, typename Response>
  void Change(UnaryContext* context, const Request* request, Response* response,
              absl::StatusOr<Response> (*change)(Context&, const Request&, const Caller&)) {
    return calls_.OnCaller(context, response, [=, this](Reply<Response> reply) {
      const auto decide = [=, this](Orchestrator& orchestrator, Moment now,
                                    Effects& effects) -> absl::StatusOr<Response> {
        RETURN_IF_ERROR(CheckWords(*request));
        RETURN_IF_ERROR(calls_.loop().CheckStore());
        NoteNames(context, *request);
        return orchestrator.Change(change, *request, now, effects, context->caller());
      };
      Audited(context, request, reply, decide);
    });
  }

  // Replies with the result of the fleet's `change`, which blocks, once it is stored with its row of the
  // audit. A request_id that was used before gets its earlier answer.
  template <typename Request, typename Response>
  void ChangeFleet(UnaryContext* context, const Request* request, Response* response,
                   absl::StatusOr<Response> (FleetService::*change)(const Request&)) {
    return calls_.OnCaller(context, response, [=, this](Reply<Response> reply) {
      const auto answer = [=, this](const absl::StatusOr<Response>& result) {
        const auto decide = [=](Orchestrator& orchestrator, Moment now,
                                Effects& effects) -> absl::StatusOr<Response> {
          RETURN_IF_ERROR(result.status());
          Response kept;
          ASSIGN_OR_RETURN(const std::string text,
                           orchestrator.OnAnswer(request->request_id(), *request, result->SerializeAsString(),
                                                 now, effects));
          INLIER_CHECK(kept.ParseFromString(text));
          return kept;
        };
        Audited(context, request, reply, decide);
      };
      calls_.loop().Post([=, this] {
        if (absl::Status fits = CheckWords(*request); !fits.ok()) return answer(fits);
        if (absl::Status stores = calls_.loop().CheckStore(); !stores.ok()) return answer(stores);
        const auto earlier = calls_.loop().orchestrator().EarlierAnswer(request->request_id(), *request);
        if (!earlier.ok()) return answer(earlier.status());
        if (earlier->has_value()) return answer(Response());  // It is not used.
        calls_.reads().Run(
            context->caller().name, [=, this] { answer((fleet_.*change)(*request)); }, answer);
      });
    });
  }

  // Sends the caller a note on the parameters that the views have no place for.
  void NoteColumns(UnaryContext* context, const v1::ProgramDescription& program) {
    const auto programs = reader_.Programs();
    const std::string note = programs.ok() ? ColumnsNote(*programs, program) : "";
    if (!note.empty()) context->server_context().AddTrailingMetadata(kNoteHeader, note);
  }

  // The same for a request with a sweep. On the thread of heavy messages `check` checks the rest of the
  // request, and the grid for `decide` is made.
  template <typename Request, typename Response, typename Check>
  void ChangeSweep(UnaryContext* context, const Request* request, const v1::SweepSpec& sweep, Check check,
                   Response* response,
                   absl::StatusOr<Response> (Orchestrator::*decide)(const Request&, Moment, Effects&,
                                                                    std::optional<SweepGrid>,
                                                                    const Caller&)) {
    const auto make_grid = [check, &sweep]() -> absl::StatusOr<SweepGrid> {
      RETURN_IF_ERROR(check());
      RETURN_IF_ERROR(CheckLimits(sweep));
      return CheckedGrid(sweep);
    };
    return calls_.OnCaller(context, response, [=, this, &sweep](Reply<Response> reply) {
      const auto prepare = [=, this, &sweep] {
        absl::StatusOr<SweepGrid> grid = make_grid();
        if (grid.ok() && sweep.has_program()) NoteColumns(context, sweep.program().description());
        auto decide_it = [=, this, grid = std::move(grid)](
                             Orchestrator& orchestrator, Moment now,
                             Effects& effects) mutable -> absl::StatusOr<Response> {
          RETURN_IF_ERROR(grid.status());
          RETURN_IF_ERROR(calls_.loop().CheckStore());
          return (orchestrator.*decide)(*request, now, effects, *std::move(grid), context->caller());
        };
        Audited(context, request, reply, std::move(decide_it));
      };
      calls_.bounds().RunHeavy(context->caller().name, prepare, reply);
    });
  }

  void SubmitSweep(UnaryContext* context, const v1::SubmitSweepRequest* request,
                   v1::SubmitSweepResponse* response) {
    const auto check = [request] { return CheckRequestId(request->request_id()); };
    return ChangeSweep(context, request, request->sweep(), check, response, &Orchestrator::OnSubmit);
  }

  void ListSweeps(UnaryContext* context, const v1::ListSweepsRequest* request,
                  v1::ListSweepsResponse* response) {
    return Show(context, request, response, [context, request](const Orchestrator& orchestrator) {
      v1::ListSweepsRequest list = *request;
      if (list.owner() == "me") {
        const std::string& caller = context->caller().name;
        caller.empty() ? list.clear_owner() : list.set_owner(caller);
      }
      return inlier::ListSweeps(orchestrator.state(), list, CoordinatorLoop::Now().at);
    });
  }

  void GetSweep(UnaryContext* context, const v1::GetSweepRequest* request, v1::SweepStatus* response) {
    return Show(context, request, response,
                [context, request](const Orchestrator& orchestrator) -> absl::StatusOr<v1::SweepStatus> {
                  ASSIGN_OR_RETURN(const SweepId sweep,
                                   FindSweep(orchestrator.state(), request->sweep(), context->caller().name));
                  return StatusOf(orchestrator.state(), sweep, CoordinatorLoop::Now().at, /*with_spec=*/true);
                });
  }

  void GetSearch(UnaryContext* context, const v1::GetSearchRequest* request, v1::Search* response) {
    return Show(context, request, response, [context, request](const Orchestrator& orchestrator) {
      return inlier::GetSearch(orchestrator.state(), *request, context->caller().name);
    });
  }

  void ListTrials(UnaryContext* context, const v1::ListTrialsRequest* request,
                  v1::ListTrialsResponse* response) {
    return ReadStored(calls_.reads(), context, request, response, [this, context, request] {
      return reader_.ListTrials(*request, context->caller().name);
    });
  }

  void GetMatrix(UnaryContext* context, const v1::GetMatrixRequest* request, v1::SweepMatrix* response) {
    return ReadStored(calls_.reads(), context, request, response, [this, context, request] {
      return ReadMatrix(reader_, *request, context->caller().name);
    });
  }

  void EditSweep(UnaryContext* context, const v1::EditSweepRequest* request,
                 v1::EditSweepResponse* response) {
    const auto check = [request] { return CheckWords(*request); };
    return ChangeSweep(context, request, request->spec(), check, response, &Orchestrator::OnEdit);
  }

  void ImportSweep(UnaryContext* context, const v1::ImportSweepRequest* request,
                   v1::ImportSweepResponse* response) {
    const auto check = [request] { return CheckImport(*request); };
    return ChangeSweep(context, request, request->spec(), check, response, &Orchestrator::OnImport);
  }

  // Adds why the fleet brings no more workers, where something waits for one.
  void AddFleetReasons(v1::Explanation& explanation) {
    v1::Explanation* waits = nullptr;
    if (explanation.state() == v1::TrialState_Name(v1::PENDING)) waits = &explanation;
    if (explanation.state() == v1::SweepState_Name(v1::ACTIVE) &&
        !absl::EndsWith(explanation.because(0).text(), " 0 waiting"))
      waits = explanation.mutable_because(0);
    if (waits == nullptr) return;
    for (const std::string& reason : fleet_.Reasons())
      waits->add_because()->set_text(absl::StrCat("fleet: ", reason));
  }

  // Bytes of the models of these trainings.
  absl::StatusOr<std::uint64_t> ModelBytes(const std::vector<StageId>& trainings) {
    std::vector<std::int64_t> ids;
    for (const StageId id : trainings) ids.push_back(id.value());
    ASSIGN_OR_RETURN(const SqlRows rows,
                     reader_.Select("SELECT coalesce(sum(bytes), 0) FROM (SELECT DISTINCT sha256, bytes FROM "
                                    "json_each(?1) JOIN stage ON stage.id = value JOIN artifact ON "
                                    "artifact.token = stage.result_token AND artifact.final = 1)",
                                    {nlohmann::json(ids).dump()}));
    return static_cast<std::uint64_t>(Integer(rows.rows.front().front()));
  }

  void RemoveSweep(UnaryContext* context, const v1::RemoveSweepRequest* request,
                   v1::RemoveSweepResponse* response) {
    if (!request->dry_run()) return Change(context, request, response, &inlier::RemoveSweep);
    return calls_.OnLoop(context, response, [this, context, request](Reply<v1::RemoveSweepResponse> reply) {
      if (absl::Status fits = CheckWords(*request); !fits.ok()) return reply(std::move(fits));
      NoteNames(context, *request);
      const State& state = calls_.loop().orchestrator().state();
      absl::StatusOr<Removal> removal = PlanRemoval(state, *request, context->caller());
      if (!removal.ok()) return reply(removal.status());
      const auto add = [this, removal = *std::move(removal), reply]() mutable {
        const absl::StatusOr<std::uint64_t> bytes = ModelBytes(removal.trainings);
        if (!bytes.ok()) return reply(bytes.status());
        removal.answer.set_bytes(*bytes);
        reply(std::move(removal.answer));
      };
      calls_.reads().Run(context->caller().name, add, reply);
    });
  }

  void Explain(UnaryContext* context, const v1::ExplainRequest* request, v1::Explanation* response) {
    return calls_.OnLoop(context, response, [this, context, request](Reply<v1::Explanation> reply) {
      if (absl::Status fits = CheckWords(*request); !fits.ok()) return reply(std::move(fits));
      NoteNames(context, *request);
      const auto look = [context, request](const Orchestrator& orchestrator) {
        return inlier::Explain(orchestrator.state(), *request, CoordinatorLoop::Now(),
                               context->caller().name);
      };
      const auto answer = [this, context, request, reply](absl::StatusOr<v1::Explanation> seen) {
        if (!seen.ok()) return reply(std::move(seen));
        const auto add = [this, request, explanation = *std::move(seen), reply]() mutable {
          AddFleetReasons(explanation);
          // Only the database has past attempts.
          const absl::Status added = request->has_trial()
                                         ? reader_.AddPastAttempts(request->trial(), explanation)
                                         : absl::OkStatus();
          reply(added.ok() ? absl::StatusOr<v1::Explanation>(std::move(explanation)) : added);
        };
        calls_.reads().Run(context->caller().name, add, reply);
      };
      calls_.loop().Show<v1::Explanation>(look, answer);
    });
  }

  void ListFleet(UnaryContext* context, const v1::ListFleetRequest* request, v1::FleetStatus* response) {
    return calls_.OnPool(calls_.reads(), context, response,
                         [this]() -> absl::StatusOr<v1::FleetStatus> { return fleet_.Status(); });
  }

  void ListWorkers(UnaryContext* context, const v1::ListWorkersRequest* request,
                   v1::ListWorkersResponse* response) {
    // Only the state in memory knows who is connected.
    return Show(context, request, response, [this, request](const Orchestrator&) {
      return inlier::ListWorkers(calls_.loop().orchestrator().state(), *request);
    });
  }

  void GetDeviceTracks(UnaryContext* context, const v1::GetDeviceTracksRequest* request,
                       v1::DeviceTracks* response) {
    return Show(context, request, response, [request](const Orchestrator& orchestrator) {
      return orchestrator.state().workers.devices().Tracks(*request);
    });
  }

  void Query(UnaryContext* context, const v1::QueryRequest* request, v1::QueryResponse* response) {
    return ReadStored(calls_.queries(), context, request, response, [this, context, request] {
      QueryLimits limits;
      limits.rows = std::clamp<std::uint32_t>(request->max_rows(), 1, kQueryRowsMax);
      return queries_.Run(request->sql(), limits,
                          [context] { return context->server_context().IsCancelled(); });
    });
  }

  void BuildTable(UnaryContext* context, const v1::BuildTableRequest* request, v1::Table* response) {
    return ReadStored(
        calls_.tables(), context, request, response, [this, context, request]() -> absl::StatusOr<v1::Table> {
          RETURN_IF_ERROR(CheckLimits(request->table()));
          if (request->more_sweeps_size() >= kTableSweepsMax)
            return absl::InvalidArgumentError(
                absl::StrCat("more_sweeps: a table is of at most ", kTableSweepsMax, " sweeps"));
          std::vector<SweepId> sweeps;
          const std::string& caller = context->caller().name;
          ASSIGN_OR_RETURN(sweeps.emplace_back(), reader_.FindSweep(request->sweep(), caller));
          for (const std::string& more : request->more_sweeps()) {
            ASSIGN_OR_RETURN(sweeps.emplace_back(), reader_.FindSweep(more, caller));
          }
          return inlier::BuildTable(reader_, sweeps, request->table(),
                                    [context] { return context->server_context().IsCancelled(); });
        });
  }

  void GetLogs(UnaryContext* context, const v1::GetLogsRequest* request, v1::GetLogsResponse* response) {
    return ReadStored(calls_.reads(), context, request, response,
                      [this, request]() -> absl::StatusOr<v1::GetLogsResponse> {
                        ASSIGN_OR_RETURN(const TrialId trial, reader_.FindTrial(request->trial()));
                        return reader_.Logs(trial, request->after_line(),
                                            std::clamp<std::uint32_t>(request->max_lines(), 1, kLogLinesMax),
                                            request->newest());
                      });
  }

 private:
  Calls& calls_;
  Reader& reader_;
  QueryProcesses& queries_;
  FleetService& fleet_;
};

}  // namespace

void AddSweepService(Door& door, Calls& calls, WatchHub& watches, Reader& reader, QueryProcesses& queries,
                     FleetService& fleet) {
  const auto service = std::make_shared<SweepService>(calls, reader, queries, fleet);
  const std::string name = v1::SweepService::service_full_name();
  const auto add = [&]<typename Request, typename Response>(
                       void (SweepService::*call)(UnaryContext*, const Request*, Response*)) {
    door.Add(name, RpcOf(*Request::descriptor()), service, call);
  };
  const auto change = [&]<typename Request, typename Response>(
                          absl::StatusOr<Response> (*decide)(Context&, const Request&, const Caller&)) {
    door.Add<Request, Response>(name, RpcOf(*Request::descriptor()),
                                [=](auto* context, auto* request, auto* response) {
                                  service->Change(context, request, response, decide);
                                });
  };
  const auto change_fleet = [&]<typename Request, typename Response>(
                                absl::StatusOr<Response> (FleetService::*decide)(const Request&)) {
    door.Add<Request, Response>(name, RpcOf(*Request::descriptor()),
                                [=](auto* context, auto* request, auto* response) {
                                  service->ChangeFleet(context, request, response, decide);
                                });
  };
  add(&SweepService::SubmitSweep);
  add(&SweepService::EditSweep);
  add(&SweepService::ImportSweep);
  change(&inlier::ExtendSweep);
  change(&inlier::Cancel);
  change(&inlier::Retry);
  change(&inlier::PauseSweep);
  change(&inlier::ResumeSweep);
  change(&inlier::LabelSweep);
  change(&inlier::RestoreSweep);
  add(&SweepService::RemoveSweep);
  change(&inlier::DrainWorker);
  change(&inlier::StoreAnalysis);
  change_fleet(&FleetService::Set);
  change_fleet(&FleetService::Scale);
  change_fleet(&FleetService::StopFleet);
  add(&SweepService::ListSweeps);
  add(&SweepService::GetSweep);
  add(&SweepService::GetSearch);
  add(&SweepService::ListTrials);
  add(&SweepService::GetMatrix);
  add(&SweepService::Explain);
  add(&SweepService::ListWorkers);
  add(&SweepService::GetDeviceTracks);
  add(&SweepService::ListFleet);
  add(&SweepService::Query);
  add(&SweepService::BuildTable);
  add(&SweepService::GetLogs);
  door.AddStream(name, "WatchSweep", [&watches](AdmittedCall call) { return watches.Open(std::move(call)); });
}

}  // namespace inlier
