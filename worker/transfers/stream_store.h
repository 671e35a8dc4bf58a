// Checkpoints in the coordinator's folder, moved by its ArtifactService in checked chunks.
//
// Thread safety: every function on any thread.
#ifndef INLIER_WORKER_TRANSFERS_STREAM_STORE_H_
#define INLIER_WORKER_TRANSFERS_STREAM_STORE_H_

#include <memory>
#include <utility>

#include "inlier/v1/artifact_service.grpc.pb.h"
#include "rpc/renewed_channel.h"
#include "worker/transfers/transfer_store.h"
#include "worker/worker_metrics.h"

namespace inlier {

class StreamStore final : public TransferStore {
 public:
  // `metrics` outlives it.
  StreamStore(std::shared_ptr<RenewedChannel> channel, WorkerMetrics& metrics)
      : channel_(std::move(channel)), metrics_(metrics) {}

  // Where artifacts are kept, as the coordinator has it; waits until there is a coordinator. `job` cancels it.
  absl::Status Describe(ArtifactJob& job, v1::StoreDescription& store);

  absl::Status Fetch(ArtifactJob& job, PartFile& part) override;
  absl::Status Send(ArtifactJob& job, std::uint64_t total) override;
  absl::Status GiveUpDamaged(const ArtifactJob& job, const absl::Status& status) override;

 private:
  std::unique_ptr<v1::ArtifactService::Stub> NewStub() {
    return v1::ArtifactService::NewStub(channel_->Get());
  }

  const std::shared_ptr<RenewedChannel> channel_;
  WorkerMetrics& metrics_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_TRANSFERS_STREAM_STORE_H_
