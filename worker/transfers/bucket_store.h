// Checkpoints in a bucket of an object store (s3/). What is not there may be in the coordinator's folder, from
// before it had a bucket.
//
// Thread safety: every function on any thread.
#ifndef INLIER_WORKER_TRANSFERS_BUCKET_STORE_H_
#define INLIER_WORKER_TRANSFERS_BUCKET_STORE_H_

#include <memory>
#include <utility>

#include "s3/client.h"
#include "worker/transfers/transfer_store.h"
#include "worker/worker_metrics.h"

namespace inlier {

class BucketStore final : public TransferStore {
 public:
  // `folder`: the coordinator's. It and `metrics` outlive this.
  BucketStore(std::unique_ptr<S3Client> client, TransferStore& folder, WorkerMetrics& metrics)
      : client_(std::move(client)), folder_(folder), metrics_(metrics) {}

  absl::Status Fetch(ArtifactJob& job, PartFile& part) override;
  absl::Status Send(ArtifactJob& job, std::uint64_t bytes) override;
  // Moves the object away, so that it is not there for those that have a sound copy.
  absl::Status GiveUpDamaged(const ArtifactJob& job, const absl::Status& status) override;
  // Ends calls in progress, and all later ones.
  void Stop() { client_->Stop(); }

 private:
  const std::unique_ptr<S3Client> client_;
  TransferStore& folder_;
  WorkerMetrics& metrics_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_TRANSFERS_BUCKET_STORE_H_
