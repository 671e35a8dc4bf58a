#include "worker/artifact_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <condition_variable>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/part_file.h"
#include "base/status.h"
#include "rpc/rpc.h"
#include "worker/attempt_folder.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr auto kAnswerWithin = std::chrono::seconds(10);  // Of the short calls.
constexpr int kDamagedMax = 3;
constexpr int kLogEveryTries = 5;

double Random() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

class ArtifactJob {
 public:
  ArtifactJob(bool send, std::string sha256, fs::path path)
      : send(send), sha256(std::move(sha256)), path(std::move(path)) {}
  ~ArtifactJob() {
    if (fd >= 0) ::close(fd);
  }

  void Cancel() {
    const std::lock_guard lock(mutex);
    cancelled = true;
    if (context != nullptr) context->TryCancel();
    wake.notify_all();
  }
  bool IsCancelled() const {
    const std::lock_guard lock(mutex);
    return cancelled;
  }
  // Waits for `time` or until it is cancelled; true when cancelled.
  bool Wait(Duration time) {
    std::unique_lock lock(mutex);
    return wake.wait_for(lock, time, [this] { return cancelled; });
  }
  void SetBytes(std::uint64_t bytes, std::uint64_t total) {
    const std::lock_guard lock(mutex);
    progress.bytes = bytes;
    progress.bytes_total = total;
  }

  const bool send;
  const std::string sha256;
  const fs::path path;
  int fd = -1;  // Of the file to send: it stays readable when its attempt removes it.

  mutable std::mutex mutex;
  std::condition_variable wake;
  bool cancelled = false;
  grpc::ClientContext* context = nullptr;
  ArtifactProgress progress;
};

namespace {

// A call that ends when its job is cancelled.
class JobCall {
 public:
  explicit JobCall(ArtifactJob& job) : job_(job) {
    const std::lock_guard lock(job_.mutex);
    job_.context = &context_;
    if (job_.cancelled) context_.TryCancel();
  }
  ~JobCall() {
    const std::lock_guard lock(job_.mutex);
    job_.context = nullptr;
  }
  JobCall(const JobCall&) = delete;
  JobCall& operator=(const JobCall&) = delete;

  grpc::ClientContext* context() { return &context_; }
  void EndsWithin(Duration time) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::duration_cast<std::chrono::milliseconds>(time));
  }

 private:
  ArtifactJob& job_;
  grpc::ClientContext context_;
};

}  // namespace

ArtifactProgress ProgressOf(const ArtifactHandle& handle) {
  const std::lock_guard lock(handle->mutex);
  return handle->progress;
}

ArtifactTransfer::ArtifactTransfer(Options options, WorkerMetrics& metrics, std::function<void()> on_change)
    : options_(std::move(options)),
      metrics_(metrics),
      on_change_(std::move(on_change)),
      mode_(options_.artifacts == v1::WorkerConfig::SHARED_FOLDER ? ArtifactMode::kSharedFolder
            : options_.artifacts == v1::WorkerConfig::STREAMED    ? ArtifactMode::kStreamed
                                                                  : ArtifactMode::kUnknown),
      mode_job_(std::make_shared<ArtifactJob>(false, "", "")),
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
  fetching_.join();
  sending_.join();
}

void ArtifactTransfer::FindMode() {
  for (int tries = 1;; ++tries) {
    JobCall call(*mode_job_);
    call.EndsWithin(kAnswerWithin);
    call.context()->set_wait_for_ready(true);  // As soon as there is a coordinator, attempts wait for this.
    v1::StoreDescription store;
    const absl::Status status =
        FromGrpcStatus(NewStub()->DescribeStore(call.context(), v1::DescribeStoreRequest(), &store));
    if (status.ok() || absl::IsUnimplemented(status)) {
      const absl::StatusOr<std::string> ours = ReadFile(options_.state_dir / "artifacts" / "store.id");
      const bool same = !status.ok() || (ours.ok() && *ours == store.store_id());
      mode_ = same ? ArtifactMode::kSharedFolder : ArtifactMode::kStreamed;
      spdlog::info("artifacts mode={}", same ? "SHARED_FOLDER" : "STREAMED");
      on_change_();
      return;
    }
    if (tries % kLogEveryTries == 0) {
      spdlog::warn(
          "artifacts_mode_unknown reason={} remedy=\"set artifacts to SHARED_FOLDER or STREAMED, or wait: no "
          "attempt starts before the coordinator has answered\"",
          LogText(status.message()));
    }
    if (mode_job_->Wait(options_.backoff.Wait(tries, Random()))) return;
  }
}

ArtifactHandle ArtifactTransfer::Fetch(const std::string& sha256) {
  return Begin(false, sha256, *ArtifactPath(options_.state_dir, sha256));
}

ArtifactHandle ArtifactTransfer::Send(const fs::path& path, const std::string& sha256) {
  return Begin(true, sha256, path);
}

ArtifactHandle ArtifactTransfer::Begin(bool send, const std::string& sha256, const fs::path& path) {
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs_, [](const auto& item) { return item.second.wanted.expired(); });
  const Key key(send, sha256);
  if (const auto known = jobs_.find(key); known != jobs_.end()) {
    ArtifactHandle wanted = known->second.wanted.lock();
    if (wanted != nullptr) {
      const ArtifactProgress progress = ProgressOf(wanted);
      if (!progress.done || progress.status.ok()) return wanted;
    }
  }
  auto job = std::make_shared<ArtifactJob>(send, sha256, path);
  // Dropping the last handle cancels the job; the job itself lives until its thread is done with it.
  ArtifactHandle handle(job.get(), [job](const ArtifactJob*) { job->Cancel(); });
  jobs_[key] = {job, handle};
  if (stopped_) {
    job->progress.done = true;
    job->progress.status = absl::CancelledError("the worker is ending");
  } else {
    asio::post(send ? sending_ : fetching_, [this, job] { Run(*job); });
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

bool ArtifactTransfer::IsFinal(const absl::Status& status, bool send, int tries, int damaged) const {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
      return true;
    case absl::StatusCode::kNotFound:
      if (send) return true;  // There is no such file to send.
      break;
    default:
      break;
  }
  if (damaged >= kDamagedMax) return true;
  if (draining_) return tries >= options_.tries_max_draining;
  return !send && tries >= options_.tries_max;
}

void ArtifactTransfer::Run(ArtifactJob& job) {
  absl::Status status = absl::CancelledError("it is not wanted any more");
  std::uint64_t furthest = 0;
  for (int tries = 0, damaged = 0; !job.IsCancelled();) {
    status = job.send ? SendOnce(job) : FetchOnce(job);
    if (status.ok() || job.IsCancelled()) break;
    std::uint64_t bytes = 0;
    {
      const std::lock_guard lock(job.mutex);
      bytes = job.progress.bytes;
      ++job.progress.failures;
    }
    tries = bytes > furthest ? 1 : tries + 1;
    furthest = std::max(furthest, bytes);
    if (absl::IsDataLoss(status)) ++damaged;
    metrics_.artifacts.failures.Increment();
    if (IsFinal(status, job.send, tries, damaged)) break;
    spdlog::warn("artifact_{}_failed sha256={} bytes={} tries={} reason=\"{}\"; trying again",
                 job.send ? "send" : "fetch", job.sha256, bytes, tries, std::string(status.message()));
    if (job.Wait(options_.backoff.Wait(tries, Random()))) break;
  }
  if (!status.ok() && job.IsCancelled()) status = absl::CancelledError("it is not wanted any more");
  if (status.ok()) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(job.path, error);
    Trim(error ? 0 : bytes);
  }
  {
    const std::lock_guard lock(job.mutex);
    job.progress.done = true;
    job.progress.status = status;
  }
  on_change_();
}

absl::Status ArtifactTransfer::FetchOnce(ArtifactJob& job) {
  std::error_code error;
  if (fs::is_regular_file(job.path, error)) {
    MarkUsed(job.path);
    const std::uint64_t bytes = fs::file_size(job.path, error);
    job.SetBytes(bytes, bytes);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<PartFile>> opened = PartFile::Open(job.path);
  if (!opened.ok()) {
    // Another worker on this folder downloads it: its progress counts.
    const std::uint64_t bytes = fs::file_size(PartFile::NameOf(job.path), error);
    if (!error) job.SetBytes(bytes, 0);
    return opened.status();
  }
  const std::unique_ptr<PartFile> part = *std::move(opened);
  v1::DownloadArtifactRequest request;
  request.set_sha256(job.sha256);
  request.set_offset(part->size());
  std::uint64_t total = part->size();
  {
    JobCall call(job);
    const auto reader = NewStub()->Download(call.context(), request);
    v1::ArtifactChunk chunk;
    absl::Status status;
    while (status.ok() && reader->Read(&chunk)) {
      total = chunk.bytes_total();
      if (chunk.offset() != part->size() || Sha256Hex(chunk.data()) != chunk.sha256()) {
        status = absl::AbortedError(absl::StrCat("the chunk at ", chunk.offset(), " was damaged in transit"));
        break;
      }
      status = part->Append(chunk.data());
      metrics_.artifacts.bytes_fetched.Increment(static_cast<double>(chunk.data().size()));
      job.SetBytes(part->size(), total);
    }
    if (!status.ok()) call.context()->TryCancel();
    const absl::Status ended = FromGrpcStatus(reader->Finish());
    RETURN_IF_ERROR(status);
    if (absl::IsOutOfRange(ended)) RETURN_IF_ERROR(part->Shorten(0));  // Not a part of this artifact.
    RETURN_IF_ERROR(ended);
  }
  if (part->size() != total) {
    return absl::AbortedError(
        absl::StrCat("the artifact ended after ", part->size(), " of ", total, " bytes"));
  }
  RETURN_IF_ERROR(part->Complete(job.sha256));
  job.SetBytes(total, total);
  metrics_.artifacts.fetched.Increment();
  spdlog::info("artifact_fetched sha256={} bytes={}", job.sha256, total);
  return absl::OkStatus();
}

absl::Status ArtifactTransfer::SendOnce(ArtifactJob& job) {
  if (job.fd < 0) job.fd = ::open(job.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (job.fd < 0) return ErrnoStatus(absl::StrCat("cannot read ", job.path.string()));
  struct stat file {};
  if (::fstat(job.fd, &file) != 0) return ErrnoStatus(absl::StrCat("cannot read ", job.path.string()));
  const std::uint64_t total = static_cast<std::uint64_t>(file.st_size);
  v1::ArtifactStat stat;
  {
    JobCall call(job);
    call.EndsWithin(kAnswerWithin);
    v1::StatArtifactRequest request;
    request.set_sha256(job.sha256);
    RETURN_IF_ERROR(FromGrpcStatus(NewStub()->Stat(call.context(), request, &stat)));
  }
  if (stat.complete()) {
    job.SetBytes(total, total);
    return absl::OkStatus();
  }
  std::uint64_t at = stat.received() <= total ? stat.received() : 0;
  job.SetBytes(at, total);
  JobCall call(job);
  v1::UploadArtifactResponse response;
  const auto writer = NewStub()->Upload(call.context(), &response);
  v1::UploadArtifactRequest message;
  message.mutable_header()->set_sha256(job.sha256);
  message.mutable_header()->set_bytes(total);
  message.mutable_header()->set_offset(at);
  bool sent = writer->Write(message);
  absl::Status read;
  std::string bytes(kChunkBytes, '\0');
  while (sent && at < total && read.ok()) {
    const ssize_t got = ::pread(job.fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      read = got < 0 ? ErrnoStatus(absl::StrCat("cannot read ", job.path.string()))
                     : absl::DataLossError(absl::StrCat(job.path.string(), " has become shorter"));
      break;
    }
    v1::ArtifactChunk& chunk = *message.mutable_chunk();
    chunk.set_offset(at);
    chunk.set_data(bytes.data(), static_cast<std::size_t>(got));
    chunk.set_sha256(Sha256Hex(chunk.data()));
    sent = writer->Write(message);
    if (!sent) break;
    at += static_cast<std::uint64_t>(got);
    metrics_.artifacts.bytes_sent.Increment(static_cast<double>(got));
    job.SetBytes(at, total);
  }
  if (!read.ok()) call.context()->TryCancel();
  writer->WritesDone();
  const absl::Status ended = FromGrpcStatus(writer->Finish());
  RETURN_IF_ERROR(read);
  RETURN_IF_ERROR(ended);
  job.SetBytes(total, total);
  metrics_.artifacts.sent.Increment();
  spdlog::info("artifact_sent sha256={} bytes={}", job.sha256, response.bytes_taken());
  return absl::OkStatus();
}

void ArtifactTransfer::Trim(std::uint64_t bytes) {
  if (mode_ != ArtifactMode::kStreamed) return;
  const std::lock_guard one(trim_mutex_);
  if (!cache_room_.Take(bytes)) return;
  const auto in_use = [this](const fs::path& path) {
    const std::lock_guard lock(mutex_);
    if (live_.count(path.parent_path()) > 0) return true;
    const std::string sha256 = path.filename().string().substr(0, 64);
    for (const bool send : {false, true}) {
      const auto job = jobs_.find(Key(send, sha256));
      if (job != jobs_.end() && !job->second.wanted.expired()) return true;
    }
    return false;
  };
  cache_room_.Trimmed(TrimArtifactCache(options_.state_dir, options_.cache_bytes_max, in_use).left);
}

}  // namespace inlier
