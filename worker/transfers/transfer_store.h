// Where checkpoints go and come from: the coordinator (stream_store.h) or a bucket (bucket_store.h). Each call
// is one try.
//
// Thread safety: every function on any thread; they wait for disk and network.
#ifndef INLIER_WORKER_TRANSFERS_TRANSFER_STORE_H_
#define INLIER_WORKER_TRANSFERS_TRANSFER_STORE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/files/part_file.h"
#include "worker/transfers/artifact_job.h"

namespace inlier {

class TransferStore {
 public:
  virtual ~TransferStore() = default;

  // Continues `part` and completes it. DataLoss: the stored file does not have the digest.
  virtual absl::Status Fetch(ArtifactJob& job, PartFile& part) = 0;
  // Sends job.file, of `bytes`; done when it is durable there.
  virtual absl::Status Send(ArtifactJob& job, std::uint64_t bytes) = 0;
  // `status` is the DataLoss of the last try to fetch; the result has what was done about it, and the remedy.
  virtual absl::Status GiveUpDamaged(const ArtifactJob& job, const absl::Status& status) = 0;
};

}  // namespace inlier

#endif  // INLIER_WORKER_TRANSFERS_TRANSFER_STORE_H_
