// The gRPC service for artifacts: workers upload and download checkpoints in checked chunks, and resume a
// transfer that broke.
//
// Files are read and written on a pool of its own, so that neither the coordinator's thread nor users'
// queries wait for them. A call holds one chunk at a time: the next is read when the last is written. Uploads
// and downloads are limited in number; above the limit, a transfer whose worker has been silent gives its
// place to a new one.
//
// Thread safety: gRPC calls it on its own threads.
#ifndef INLIER_COORDINATOR_SERVICES_ARTIFACT_SERVICE_H_
#define INLIER_COORDINATOR_SERVICES_ARTIFACT_SERVICE_H_

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "coordinator/artifacts/artifact_store.h"
#include "coordinator/removal/removal.h"
#include "coordinator/services/calls.h"
#include "coordinator/services/door.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/artifact_service.grpc.pb.h"
#include "s3/client.h"

namespace inlier {

// The claim on the bucket's prefix. Workers do not learn of a prefix that belongs to another coordinator,
// whose collection would remove their files. They do learn of a bucket that does not answer: trainings continue
// meanwhile.
struct BucketClaim {
  std::mutex mutex;
  bool under_way = false, taken = false;
  absl::Status refused = absl::UnavailableError("the coordinator asks for its bucket");
  std::string told;  // The text in the log.
};

class ArtifactService {
 public:
  static constexpr std::size_t kChunkBytesMax = 1 << 20;
  static constexpr int kTransfersMax = 64;  // Uploads at once, and downloads; more are RESOURCE_EXHAUSTED.
  // A transfer that has waited so long for its worker may lose its place.
  static constexpr Duration kSilentTransfer = std::chrono::seconds(1);
  static constexpr int kThreads = 2;

  // All outlive it. `bucket`: null where artifacts are in `store`; else workers get `described`.
  ArtifactService(Calls& calls, CoordinatorMetrics& metrics, ArtifactStore& store, S3Client* bucket,
                  v1::S3Config described, Reader& reader, std::filesystem::path state_dir)
      : calls_(calls),
        metrics_(metrics),
        store_(store),
        bucket_(bucket),
        described_(std::move(described)),
        reader_(reader),
        state_dir_(std::move(state_dir)),
        pool_(kThreads) {}

  // Waits, after the server's shutdown, for the file work that runs.
  void Join() { pool_.join(); }

  // Outlives `door`.
  void AddTo(Door& door);

  // Claims the prefix of the bucket for this coordinator without waiting, and logs the outcome. Until it
  // succeeds, a worker that asks for the store repeats it.
  void CheckBucket();

 private:
  class Transfer;
  class UploadCall;
  class DownloadCall;

  // Frees what is to be freed, and returns which stages are gone with it; with dry_run, would be. Waits for the loop.
  absl::StatusOr<Freed> FreeStages(const v1::CollectRequest& request, const std::string& caller);
  absl::StatusOr<v1::CollectResponse> CollectNow(const v1::CollectRequest& request,
                                                 const std::string& caller);
  void NoteClaim(const absl::Status& answers, bool reached);
  void DescribeStore(UnaryContext*, const v1::DescribeStoreRequest*, v1::StoreDescription*);
  void Stat(UnaryContext*, const v1::StatArtifactRequest*, v1::ArtifactStat*);
  void Collect(UnaryContext*, const v1::CollectRequest*, v1::CollectResponse*);

  Calls& calls_;
  CoordinatorMetrics& metrics_;
  ArtifactStore& store_;
  S3Client* const bucket_;
  const v1::S3Config described_;
  BucketClaim claim_;
  Reader& reader_;
  const std::filesystem::path state_dir_;
  boost::asio::thread_pool pool_;
  std::atomic<int> uploads_{0}, downloads_{0};  // Open transfers.
  std::mutex collecting_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_ARTIFACT_SERVICE_H_
