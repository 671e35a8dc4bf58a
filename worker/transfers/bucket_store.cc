#include "worker/transfers/bucket_store.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"
#include "s3/object_transfer.h"

namespace inlier {
namespace {

constexpr char kMadeAgain[] =
    "a worker that is connected and has a copy in artifacts/ of its state_dir sends it again; without one "
    "put "
    "a copy there, or train the model again by `inlier submit --again`";

S3Progress ProgressOf(ArtifactJob& job, prometheus::Counter& moved) {
  return {.is_cancelled = [&job] { return job.IsCancelled(); },
          .on_bytes = [&job](std::uint64_t bytes, std::uint64_t total) { job.SetBytes(bytes, total); },
          .on_moved = [&moved](std::uint64_t bytes) { moved.Increment(static_cast<double>(bytes)); }};
}

}  // namespace

absl::Status BucketStore::Fetch(ArtifactJob& job, PartFile& part) {
  const absl::Status fetched =
      FetchObject(*client_, job.sha256, part, ProgressOf(job, metrics_.artifacts.bytes_fetched));
  if (!absl::IsNotFound(fetched)) return fetched;
  const absl::Status in_folder = folder_.Fetch(job, part);
  if (!absl::IsNotFound(in_folder)) return in_folder;
  return absl::NotFoundError(absl::StrCat(fetched.message(), "; ", kMadeAgain));
}

absl::Status BucketStore::Send(ArtifactJob& job, std::uint64_t bytes) {
  const S3Progress progress = ProgressOf(job, metrics_.artifacts.bytes_sent);
  const S3Existing existing =
      job.kind == TransferKind::kRestore ? S3Existing::kKeep : S3Existing::kKeepRecent;
  ASSIGN_OR_RETURN(const bool sent, SendObject(*client_, job.sha256, job.file.fd(), existing, progress));
  job.SetBytes(bytes, bytes);
  if (!sent) return absl::OkStatus();
  metrics_.artifacts.sent.Increment();
  spdlog::info("artifact_sent sha256={} bytes={} object={}", job.sha256, bytes,
               client_->location().NameOf(client_->location().KeyOf(job.sha256)));
  return absl::OkStatus();
}

absl::Status BucketStore::GiveUpDamaged(const ArtifactJob& job, const absl::Status& status) {
  const S3Location& where = client_->location();
  const std::string name = where.NameOf(where.KeyOf(job.sha256));
  const absl::StatusOr<bool> moved = MoveDamagedAway(*client_, job.sha256);
  const std::string done = !moved.ok() ? absl::StrCat("not moved away (", moved.status().message(), ")")
                           : *moved ? absl::StrCat("moved to ", where.NameOf(where.DamagedKeyOf(job.sha256)))
                                    : std::string("removed");
  spdlog::warn("artifact_damaged sha256={} object={} done={} reason={}", job.sha256, name, LogText(done),
               LogText(status.message()));
  return absl::DataLossError(
      absl::StrCat(name, " is damaged and was ", done, "; ", kMadeAgain, ": ", status.message()));
}

}  // namespace inlier
