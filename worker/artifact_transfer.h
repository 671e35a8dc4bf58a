// Checkpoints between this worker and the coordinator, or a bucket of an object store, for workers that share
// no folder with the coordinator.
//
// A transfer is requested by its digest and runs by itself: after a failure it is tried again with a
// back-off, from the byte where it broke. A second request for the same digest joins the transfer in
// progress. A transfer without a request left stops; the bytes it moved are kept for the next time.
//
// Thread safety: every function on any thread; only Stop waits for the disk or the network.
#ifndef INLIER_WORKER_ARTIFACT_TRANSFER_H_
#define INLIER_WORKER_ARTIFACT_TRANSFER_H_

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "base/data/checked_files.h"
#include "inlier/v1/config.pb.h"
#include "rpc/renewed_channel.h"
#include "worker/artifact_cache.h"
#include "worker/transfers/artifact_job.h"
#include "worker/transfers/bucket_store.h"
#include "worker/transfers/stream_store.h"
#include "worker/worker_metrics.h"

namespace inlier {

enum class ArtifactMode {
  kUnknown,       // The coordinator has not been asked yet.
  kSharedFolder,  // All workers see the files; nothing is transferred.
  kStreamed,
  kBucket,  // As streamed, and in place of the coordinator a bucket holds the files.
};
// Where files are sent, for messages.
const char* StoreText(ArtifactMode mode);

// A requested transfer. Dropping the last reference cancels it.
using ArtifactHandle = std::shared_ptr<const ArtifactJob>;
inline ArtifactProgress ProgressOf(const ArtifactHandle& handle) { return handle->progress(); }

struct ArtifactTransferOptions {
  std::filesystem::path state_dir;
  std::shared_ptr<RenewedChannel> channel;  // To the coordinator.
  v1::WorkerConfig::Artifacts artifacts = v1::WorkerConfig::AUTO;
  v1::S3Config s3{};      // Without a bucket: the coordinator's.
  bool insecure = false;  // Other users of this machine may read the file of the bucket's key pair.
  std::uint64_t cache_bytes_max = std::uint64_t{20} << 30;
  Backoff backoff{std::chrono::milliseconds(200), std::chrono::seconds(5)};
  // Failures in a row, without a byte moved, after which a fetch ends. An upload ends so only while draining.
  int tries_max = 8;
  int tries_max_bucket = 120;  // Ten minutes of an object store that refuses connections.
  int tries_max_draining = 3;
};

class ArtifactTransfer {
 public:
  // `on_change` is called on threads of the transfer when the mode is known and when a transfer has ended.
  // `metrics` outlives it.
  ArtifactTransfer(ArtifactTransferOptions options, WorkerMetrics& metrics, std::function<void()> on_change);
  ~ArtifactTransfer();  // Stops.
  ArtifactTransfer(const ArtifactTransfer&) = delete;
  ArtifactTransfer& operator=(const ArtifactTransfer&) = delete;

  // Finds the mode: asks the coordinator where the configuration does not have it.
  void Start();
  // Cancels all transfers and waits for their end.
  void Stop();
  ArtifactMode mode() const { return mode_; }
  // While the mode is not known: the tries to find it, and the trouble of the last one.
  ArtifactProgress finding() const { return mode_job_->progress(); }
  // Checkpoints are sent and fetched. REQUIRES of Fetch and Send.
  bool MovesFiles() const { return mode_ == ArtifactMode::kStreamed || mode_ == ArtifactMode::kBucket; }

  // Downloads artifacts/<sha256>.safetensors into the state folder and checks its digest. The file stays in the cache
  // while the handle lives. REQUIRES: `sha256` is a SHA-256 in lower-case hexadecimal.
  ArtifactHandle Fetch(const std::string& sha256);
  // Uploads `path`, whose digest is `sha256`; done when it is durable there. NotFound without the file.
  ArtifactHandle Send(const std::filesystem::path& path, const std::string& sha256);
  // The bucket, or the coordinator, has lost these artifacts: those of which the cache has a copy are uploaded, and
  // checked once a minute for as long as they are wanted.
  void SetWanted(const std::vector<std::string>& sha256s);

  // Files that other attempts have written, and this worker reads.
  CheckedFiles& files() { return files_; }

  // The files in the folder of a live attempt stay in the cache.
  void SetLive(const std::filesystem::path& attempt_folder, bool live);
  void SetDraining() { draining_ = true; }

 private:
  using Key = std::pair<TransferKind, std::string>;  // The digest.
  struct Entry {
    std::shared_ptr<ArtifactJob> job;
    std::weak_ptr<const ArtifactJob> wanted;
  };

  ArtifactHandle Begin(TransferKind kind, const std::string& sha256, const std::filesystem::path& path);
  void FindMode();
  absl::StatusOr<ArtifactMode> AskForMode();
  // OK also where the bucket does not answer; InvalidArgument for a wrong configuration or key pair.
  absl::StatusOr<ArtifactMode> OpenBucket(const v1::S3Config& config);
  void Run(ArtifactJob& job);
  TransferStore& store() {
    return mode_ == ArtifactMode::kBucket ? static_cast<TransferStore&>(*bucket_) : stream_;
  }
  absl::Status FetchOnce(ArtifactJob& job);
  absl::Status SendOnce(ArtifactJob& job);
  // True when `status` ends the job after `tries` failures without progress and `damaged` wrong contents.
  bool IsFinal(const absl::Status& status, bool sends, int tries, int damaged) const;
  // A file of `bytes` was added: trims the cache when it may be full.
  void Trim(std::uint64_t bytes);

  const ArtifactTransferOptions options_;
  WorkerMetrics& metrics_;
  const std::function<void()> on_change_;
  StreamStore stream_;
  std::unique_ptr<BucketStore> bucket_;  // Made before mode_ has it.
  std::atomic<ArtifactMode> mode_;
  std::atomic<bool> draining_ = false;
  std::mutex mutex_;
  bool stopped_ = false;
  std::map<Key, Entry> jobs_;
  std::set<std::filesystem::path> live_;
  std::vector<ArtifactHandle> wanted_;
  CheckedFiles files_;
  std::shared_ptr<ArtifactJob> mode_job_;  // Its wait ends with Stop.
  std::mutex trim_mutex_;
  CacheRoom cache_room_;  // Guarded by trim_mutex_.
  boost::asio::thread_pool fetching_{2};
  boost::asio::thread_pool sending_{2};
};

}  // namespace inlier

#endif  // INLIER_WORKER_ARTIFACT_TRANSFER_H_
