#include "worker/artifact_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/asio/post.hpp>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/part_file.h"
#include "base/log.h"
#include "base/status.h"
#include "s3/location.h"
#include "worker/attempt_folder.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr int kDamagedMax = 3;
constexpr int kLogEveryTries = 5;
// Another worker that still had the damaged object may have moved away what was sent.
constexpr auto kRestoreAgain = std::chrono::minutes(1);

// True when the result of a request does not serve the next one.
bool IsOver(TransferKind kind, const ArtifactProgress& progress) {
  if (!progress.done) return false;
  if (kind == TransferKind::kRestore) return MonotonicNow() - progress.ended >= kRestoreAgain;
  return !progress.status.ok();
}

double Random() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

const char* StoreText(ArtifactMode mode) {
  return mode == ArtifactMode::kBucket ? "the object store" : "the coordinator";
}

ArtifactTransfer::ArtifactTransfer(ArtifactTransferOptions options, WorkerMetrics& metrics,
                                   std::function<void()> on_change)
    : options_(std::move(options)),
      metrics_(metrics),
      on_change_(std::move(on_change)),
      stream_(options_.channel, metrics),
      mode_(options_.artifacts == v1::WorkerConfig::SHARED_FOLDER ? ArtifactMode::kSharedFolder
            : options_.artifacts == v1::WorkerConfig::STREAMED    ? ArtifactMode::kStreamed
                                                                  : ArtifactMode::kUnknown),
      mode_job_(std::make_shared<ArtifactJob>(TransferKind::kFetch, "", "")),
      cache_room_(options_.cache_bytes_max) {}

ArtifactTransfer::~ArtifactTransfer() { Stop(); }

void ArtifactTransfer::Start() {
  if (mode_ == ArtifactMode::kUnknown) asio::post(fetching_, [this] { FindMode(); });
}

void ArtifactTransfer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [key, entry] : jobs_) entry.job->Cancel();
  }
  mode_job_->Cancel();
  if (mode_ == ArtifactMode::kBucket) bucket_->Stop();
  fetching_.join();
  sending_.join();
}

void ArtifactTransfer::FindMode() {
  for (int tries = 1;; ++tries) {
    absl::StatusOr<ArtifactMode> found =
        options_.artifacts == v1::WorkerConfig::S3 ? OpenBucket(options_.s3) : AskForMode();
    if (found.ok()) {
      mode_ = *found;
      spdlog::info("artifacts mode={}", *found == ArtifactMode::kBucket         ? "S3"
                                        : *found == ArtifactMode::kSharedFolder ? "SHARED_FOLDER"
                                                                                : "STREAMED");
      on_change_();
      return;
    }
    mode_job_->SetTrouble(found.status());
    if (tries % kLogEveryTries == 0) {
      spdlog::warn(
          "artifacts_mode_unknown reason={} remedy=\"set artifacts to SHARED_FOLDER, STREAMED or S3, or "
          "wait: no attempt starts before it is known\"",
          LogText(found.status().message()));
    }
    if (mode_job_->Wait(options_.backoff.Wait(tries, Random()))) return;
  }
}

absl::StatusOr<ArtifactMode> ArtifactTransfer::AskForMode() {
  v1::StoreDescription store;
  const absl::Status status = stream_.Describe(*mode_job_, store);
  if (absl::IsUnimplemented(status)) return ArtifactMode::kSharedFolder;
  RETURN_IF_ERROR(status);
  if (store.has_s3()) {
    if (options_.s3.bucket().empty()) return OpenBucket(store.s3());
    ASSIGN_OR_RETURN(const S3Location ours, S3Location::FromConfig(options_.s3));
    ASSIGN_OR_RETURN(const S3Location theirs, S3Location::FromConfig(store.s3()));
    if (ours.HoldsTheSameAs(theirs)) return OpenBucket(options_.s3);
    return absl::FailedPreconditionError(absl::StrCat("s3: this worker has ", ours.Describe(),
                                                      ", and the coordinator ", theirs.Describe(),
                                                      "; give both the same bucket and prefix"));
  }
  if (!options_.s3.bucket().empty())
    spdlog::warn("s3_not_used reason=\"the coordinator has no s3; give it one, or set artifacts: S3 here\"");
  const absl::StatusOr<std::string> ours = ReadFile(options_.state_dir / "artifacts" / "store.id");
  return ours.ok() && *ours == store.store_id() ? ArtifactMode::kSharedFolder : ArtifactMode::kStreamed;
}

absl::StatusOr<ArtifactMode> ArtifactTransfer::OpenBucket(const v1::S3Config& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<S3Client> client, S3Client::Make(config, options_.insecure));
  const std::string where = client->location().Describe();
  // Also when it does not answer now: transfers wait for it, and show why.
  const absl::Status answers =
      client->CheckBucket({.is_cancelled = [this] { return mode_job_->IsCancelled(); }});
  if (absl::IsCancelled(answers)) return answers;
  if (answers.ok()) {
    spdlog::info("s3_found bucket=\"{}\"", where);
  } else {
    spdlog::warn("s3_unavailable bucket=\"{}\" reason={}", where, LogText(answers.message()));
  }
  bucket_ = std::make_unique<BucketStore>(std::move(client), stream_, metrics_);
  return ArtifactMode::kBucket;
}

ArtifactHandle ArtifactTransfer::Fetch(const std::string& sha256) {
  return Begin(TransferKind::kFetch, sha256, *ArtifactPath(options_.state_dir, sha256));
}

ArtifactHandle ArtifactTransfer::Send(const fs::path& path, const std::string& sha256) {
  return Begin(TransferKind::kSend, sha256, path);
}

void ArtifactTransfer::SetWanted(const std::vector<std::string>& sha256s) {
  std::vector<ArtifactHandle> wanted;
  for (const std::string& sha256 : sha256s) {
    const absl::StatusOr<fs::path> copy = ArtifactPath(options_.state_dir, sha256);
    std::error_code error;
    if (MovesFiles() && copy.ok() && fs::is_regular_file(*copy, error))
      wanted.push_back(Begin(TransferKind::kRestore, sha256, *copy));
  }
  const std::lock_guard lock(mutex_);
  wanted_.swap(wanted);  // Transfers that are no longer wanted end with `wanted`.
}

ArtifactHandle ArtifactTransfer::Begin(TransferKind kind, const std::string& sha256, const fs::path& path) {
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs_, [](const auto& item) { return item.second.wanted.expired(); });
  const Key key(kind, sha256);
  if (const auto known = jobs_.find(key); known != jobs_.end()) {
    ArtifactHandle wanted = known->second.wanted.lock();
    if (wanted != nullptr && !IsOver(kind, wanted->progress())) return wanted;
  }
  auto job = std::make_shared<ArtifactJob>(kind, sha256, path);
  // Dropping the last handle cancels the job; the job itself lives until its thread is done with it.
  ArtifactHandle handle(job.get(), [job](const ArtifactJob*) { job->Cancel(); });
  jobs_[key] = {job, handle};
  if (stopped_) {
    job->SetDone(absl::CancelledError("the worker is ending"));
  } else {
    asio::post(job->sends() ? sending_ : fetching_, [this, job] { Run(*job); });
  }
  return handle;
}

void ArtifactTransfer::SetLive(const fs::path& attempt_folder, bool live) {
  const std::lock_guard lock(mutex_);
  if (live) {
    live_.insert(attempt_folder);
  } else {
    live_.erase(attempt_folder);
  }
}

bool ArtifactTransfer::IsFinal(const absl::Status& status, bool sends, int tries, int damaged) const {
  const bool bucket = mode_ == ArtifactMode::kBucket;
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      // A bucket, or a proxy before it, has limits of its own: a trained model is kept for them.
      if (!bucket || !sends) return true;
      break;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
      // Rights, a clock and the like of a bucket can be corrected without this worker.
      if (!bucket) return true;
      break;
    case absl::StatusCode::kNotFound:
      if (sends) return true;  // There is no such file to send.
      break;
    default:
      break;
  }
  if (damaged >= kDamagedMax) return true;
  if (draining_) return tries >= options_.tries_max_draining;
  // While a bucket does not answer, no other worker could fetch it either.
  const bool waits = bucket && !absl::IsNotFound(status);
  return !sends && tries >= (waits ? options_.tries_max_bucket : options_.tries_max);
}

void ArtifactTransfer::Run(ArtifactJob& job) {
  absl::Status status = absl::CancelledError("it is not wanted any more");
  std::uint64_t furthest = 0;
  // On a machine that damages what it reads, a sound object differs each time.
  std::set<std::string> damages;
  for (int tries = 0, damaged = 0; !job.IsCancelled();) {
    status = job.sends() ? SendOnce(job) : FetchOnce(job);
    if (status.ok() || job.IsCancelled()) break;
    job.SetTrouble(status);
    const std::uint64_t bytes = job.progress().bytes;
    tries = bytes > furthest ? 1 : tries + 1;
    furthest = std::max(furthest, bytes);
    if (absl::IsDataLoss(status)) {
      ++damaged;
      damages.emplace(status.message());
    }
    metrics_.artifacts.failures.Increment();
    if (IsFinal(status, job.sends(), tries, damaged)) {
      if (absl::IsDataLoss(status) && !job.sends())
        status = damages.size() == 1
                     ? store().GiveUpDamaged(job, status)
                     : absl::UnavailableError(absl::StrCat(
                           status.message(),
                           "; each time it was another: check memory, disk and network of this machine"));
      break;
    }
    spdlog::warn("artifact_{}_failed sha256={} bytes={} tries={} reason=\"{}\"; trying again",
                 job.sends() ? "send" : "fetch", job.sha256, bytes, tries, std::string(status.message()));
    if (job.Wait(options_.backoff.Wait(tries, Random()))) break;
  }
  if (!status.ok() && job.IsCancelled()) status = absl::CancelledError("it is not wanted any more");
  if (status.ok()) Trim(SizeOf(job.path));
  job.SetDone(status);
  on_change_();
}

absl::Status ArtifactTransfer::FetchOnce(ArtifactJob& job) {
  std::error_code error;
  const absl::Status cached = files_.Check(job.path, job.sha256);
  if (cached.ok()) {
    files_.MarkUsed(job.path);
    const std::uint64_t bytes = SizeOf(job.path);
    job.SetBytes(bytes, bytes);
    return absl::OkStatus();
  }
  if (absl::IsDataLoss(cached))
    spdlog::warn("artifact_damaged sha256={} reason={} done={}; it is fetched again", job.sha256,
                 LogText(cached.message()), LogText(PutAside(job.path)));
  absl::StatusOr<std::unique_ptr<PartFile>> opened = PartFile::Open(job.path);
  if (!opened.ok()) {
    // Another worker on this folder downloads it: its progress counts.
    const std::uint64_t bytes = fs::file_size(PartFile::NameOf(job.path), error);
    if (!error) job.SetBytes(bytes, 0);
    return opened.status();
  }
  RETURN_IF_ERROR(store().Fetch(job, **opened));
  metrics_.artifacts.fetched.Increment();
  const std::uint64_t bytes = job.progress().bytes_total;
  spdlog::info("artifact_fetched sha256={} bytes={}", job.sha256, bytes);
  return absl::OkStatus();
}

absl::Status ArtifactTransfer::SendOnce(ArtifactJob& job) {
  if (job.file.fd() < 0) job.file = Descriptor(::open(job.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat file {};
  if (job.file.fd() < 0 || ::fstat(job.file.fd(), &file) != 0)
    return ErrnoStatus(absl::StrCat("cannot read ", job.path.string()));
  return store().Send(job, static_cast<std::uint64_t>(file.st_size));
}

void ArtifactTransfer::Trim(std::uint64_t bytes) {
  if (!MovesFiles()) return;
  // A coordinator's folder holds what is nowhere else; `inlier gc` removes from it.
  std::error_code error;
  if (fs::exists(options_.state_dir / "artifacts" / "store.id", error)) return;
  const std::lock_guard one(trim_mutex_);
  if (!cache_room_.Take(bytes)) return;
  const auto in_use = [this](const fs::path& path) {
    const std::lock_guard lock(mutex_);
    if (live_.count(path.parent_path()) > 0) return true;
    const std::string sha256 = path.filename().string().substr(0, 64);
    for (const TransferKind kind : {TransferKind::kFetch, TransferKind::kSend, TransferKind::kRestore}) {
      const auto job = jobs_.find(Key(kind, sha256));
      if (job != jobs_.end() && !job->second.wanted.expired()) return true;
    }
    return false;
  };
  cache_room_.Trimmed(TrimArtifactCache(options_.state_dir, options_.cache_bytes_max, in_use).left);
}

}  // namespace inlier
