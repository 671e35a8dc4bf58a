#include "worker/transfers/stream_store.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;
constexpr auto kAnswerWithin = std::chrono::seconds(10);  // Of the short calls.

// A call that ends when its job is cancelled.
class JobCall {
 public:
  explicit JobCall(ArtifactJob& job) : job_(job) { job_.SetCall(&context_); }
  ~JobCall() { job_.SetCall(nullptr); }
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

absl::Status StreamStore::Describe(ArtifactJob& job, v1::StoreDescription& store) {
  JobCall call(job);
  call.EndsWithin(kAnswerWithin);
  call.context()->set_wait_for_ready(true);  // As soon as there is a coordinator, attempts wait for this.
  return FromGrpcStatus(NewStub()->DescribeStore(call.context(), v1::DescribeStoreRequest(), &store));
}

absl::Status StreamStore::Fetch(ArtifactJob& job, PartFile& part) {
  v1::DownloadArtifactRequest request;
  request.set_sha256(job.sha256);
  request.set_offset(part.size());
  std::uint64_t total = part.size();
  {
    JobCall call(job);
    const auto reader = NewStub()->Download(call.context(), request);
    v1::ArtifactChunk chunk;
    absl::Status status;
    while (status.ok() && reader->Read(&chunk)) {
      total = chunk.bytes_total();
      if (chunk.offset() != part.size() || Sha256Hex(chunk.data()) != chunk.sha256()) {
        status = absl::AbortedError(absl::StrCat("the chunk at ", chunk.offset(), " was damaged in transit"));
        break;
      }
      status = part.Append(chunk.data());
      metrics_.artifacts.bytes_fetched.Increment(static_cast<double>(chunk.data().size()));
      job.SetBytes(part.size(), total);
    }
    if (!status.ok()) call.context()->TryCancel();
    const absl::Status ended = FromGrpcStatus(reader->Finish());
    RETURN_IF_ERROR(status);
    if (absl::IsOutOfRange(ended)) RETURN_IF_ERROR(part.Shorten(0));  // Not a part of this artifact.
    RETURN_IF_ERROR(ended);
  }
  if (part.size() != total) {
    return absl::AbortedError(
        absl::StrCat("the artifact ended after ", part.size(), " of ", total, " bytes"));
  }
  RETURN_IF_ERROR(part.Complete(job.sha256));
  job.SetBytes(total, total);
  return absl::OkStatus();
}

absl::Status StreamStore::Send(ArtifactJob& job, std::uint64_t total) {
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
    const ssize_t got = ::pread(job.file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(at));
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

absl::Status StreamStore::GiveUpDamaged(const ArtifactJob&, const absl::Status& status) {
  return absl::DataLossError(absl::StrCat(
      "the coordinator's copy is damaged; put a sound one in artifacts/ of its state_dir (workers "
      "that have made or fetched it keep one in theirs): ",
      status.message()));
}

}  // namespace inlier
