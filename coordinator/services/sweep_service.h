// The user-facing gRPC service: submits, shows, watches, queries and changes sweeps.
//
// Calls that change or show the state in memory run on the coordinator's thread, calls that read the database on
// the pool. A submitted or edited sweep is checked on gRPC's thread first.
//
// Thread safety: gRPC calls it on its own threads.
#ifndef INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_
#define INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_

#include "coordinator/services/calls.h"
#include "coordinator/services/watch_hub.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/sweep_service.grpc.pb.h"

namespace inlier {

class SweepService final : public v1::SweepService::CallbackService {
 public:
  // All outlive it.
  SweepService(Calls& calls, WatchHub& watches, Reader& reader)
      : calls_(calls), watches_(watches), reader_(reader) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* SubmitSweep(Context*, const v1::SubmitSweepRequest*, v1::SubmitSweepResponse*) override;
  Unary* ListSweeps(Context*, const v1::ListSweepsRequest*, v1::ListSweepsResponse*) override;
  Unary* GetSweep(Context*, const v1::GetSweepRequest*, v1::SweepStatus*) override;
  Unary* ListTrials(Context*, const v1::ListTrialsRequest*, v1::ListTrialsResponse*) override;
  grpc::ServerWriteReactor<v1::SweepUpdate>* WatchSweep(Context*, const v1::WatchSweepRequest*) override;
  Unary* Cancel(Context*, const v1::CancelRequest*, v1::CancelResponse*) override;
  Unary* Retry(Context*, const v1::RetryRequest*, v1::RetryResponse*) override;
  Unary* PauseSweep(Context*, const v1::PauseSweepRequest*, v1::PauseSweepResponse*) override;
  Unary* ResumeSweep(Context*, const v1::ResumeSweepRequest*, v1::ResumeSweepResponse*) override;
  Unary* EditSweep(Context*, const v1::EditSweepRequest*, v1::EditSweepResponse*) override;
  Unary* Explain(Context*, const v1::ExplainRequest*, v1::Explanation*) override;
  Unary* DrainWorker(Context*, const v1::DrainWorkerRequest*, v1::DrainWorkerResponse*) override;
  Unary* ListWorkers(Context*, const v1::ListWorkersRequest*, v1::ListWorkersResponse*) override;
  Unary* Query(Context*, const v1::QueryRequest*, v1::QueryResponse*) override;
  Unary* BuildTable(Context*, const v1::BuildTableRequest*, v1::Table*) override;
  Unary* GetLogs(Context*, const v1::GetLogsRequest*, v1::GetLogsResponse*) override;

 private:
  // Replies with the result of `look(orchestrator)`, once it is durable.
  template <typename Response, typename Look>
  Unary* Show(Context* context, const char* method, Response* response, Look look);

  // Replies with the result of the orchestrator's `decide`, once it is durable.
  template <typename Request, typename Response>
  Unary* Change(Context* context, const char* method, const Request* request, Response* response,
                absl::StatusOr<Response> (Orchestrator::*decide)(const Request&, Moment, Effects&));

  Calls& calls_;
  WatchHub& watches_;
  Reader& reader_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_
