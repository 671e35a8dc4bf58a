#include "s3/object_transfer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/regular_file.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::uint64_t kPartsMax = 10'000;                      // S3's limit.
constexpr std::uint64_t kCopyBytesMax = std::uint64_t{5} << 30;  // S3's limit of a copy on the server.
constexpr std::uint64_t kMebibyte = 1 << 20;
constexpr std::int64_t kRecentSeconds = 30 * 60;  // Half of what a collection leaves alone.

absl::StatusOr<std::string> ReadAt(const RegularFile& file, std::uint64_t offset, std::uint64_t count) {
  std::string bytes(count, '\0');
  ASSIGN_OR_RETURN(const std::size_t got, file.ReadAt(offset, bytes.data(), count));
  if (got < count) return absl::DataLossError("the file to send has become shorter");
  return bytes;
}

// Reports a request that begins when `there` bytes have arrived. The arguments must outlive it.
S3Watch WatchFor(const S3Progress& progress, std::uint64_t there, std::uint64_t total) {
  return {.is_cancelled = progress.is_cancelled,
          .on_moved = [&progress, there, total, before = std::uint64_t{0}](std::uint64_t moved) mutable {
            if (progress.on_bytes) progress.on_bytes(there + moved, total);
            if (progress.on_moved && moved > before) progress.on_moved(moved - before);
            before = moved;
          }};
}

// A file on its way to an object, in parts.
class PartsUpload {
 public:
  PartsUpload(S3Client& client, std::string key, const RegularFile& file, const S3Progress& progress)
      : client_(client), key_(std::move(key)), file_(file), bytes_(file.size()), progress_(progress) {
    const std::uint64_t least = (bytes_ + kPartsMax - 1) / kPartsMax;
    part_bytes_ = std::max(client.part_bytes(), (least + kMebibyte - 1) / kMebibyte * kMebibyte);
  }

  absl::Status Run() {
    RETURN_IF_ERROR(Continue());
    if (id_.empty()) {
      ASSIGN_OR_RETURN(id_, client_.BeginUpload(key_));
    }
    std::uint64_t there = 0;
    for (const auto& [number, part] : parts_) there += part.bytes;
    Show(there);
    const int count = static_cast<int>((bytes_ + part_bytes_ - 1) / part_bytes_);
    for (int number = 1; number <= count; ++number) {
      if (parts_.contains(number)) continue;
      ASSIGN_OR_RETURN(const std::string body,
                       ReadAt(file_, part_bytes_ * static_cast<std::uint64_t>(number - 1), SizeOf(number)));
      ASSIGN_OR_RETURN(parts_[number],
                       client_.PutPart(key_, id_, number, body, WatchFor(progress_, there, bytes_)));
      there += body.size();
      Show(there);
    }
    std::vector<S3Part> parts;
    for (auto& [number, part] : parts_) parts.push_back(std::move(part));
    return client_.CompleteUpload(key_, id_, parts);
  }

 private:
  std::uint64_t SizeOf(int number) const {
    return std::min(part_bytes_, bytes_ - part_bytes_ * static_cast<std::uint64_t>(number - 1));
  }

  // Finds the latest upload of this object and its parts. One in parts of another size is left to `inlier gc`.
  absl::Status Continue() {
    ASSIGN_OR_RETURN(std::vector<S3MultipartUpload> uploads, client_.ListUploads(key_));
    std::erase_if(uploads, [&](const S3MultipartUpload& upload) { return upload.key != key_; });
    std::ranges::stable_sort(uploads,
                             [](const auto& a, const auto& b) { return a.begun_seconds > b.begun_seconds; });
    for (const S3MultipartUpload& upload : uploads) {
      const absl::StatusOr<std::vector<S3Part>> parts = client_.ListParts(key_, upload.id);
      if (absl::IsNotFound(parts.status())) continue;
      RETURN_IF_ERROR(parts.status());
      const std::uint64_t count = (bytes_ + part_bytes_ - 1) / part_bytes_;
      const bool fits = std::ranges::all_of(*parts, [&](const S3Part& part) {
        return part.number >= 1 && static_cast<std::uint64_t>(part.number) <= count &&
               part.bytes == SizeOf(part.number);
      });
      if (!fits) continue;
      id_ = upload.id;
      for (const S3Part& part : *parts) parts_[part.number] = part;
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  void Show(std::uint64_t there) const {
    if (progress_.on_bytes) progress_.on_bytes(there, bytes_);
  }

  S3Client& client_;
  const std::string key_;
  const RegularFile& file_;
  const std::uint64_t bytes_;
  const S3Progress& progress_;
  std::uint64_t part_bytes_ = 0;
  std::string id_;
  std::map<int, S3Part> parts_;  // Sent already, by number.
};

absl::Status PutWhole(S3Client& client, const std::string& key, const RegularFile& file,
                      const S3Progress& progress) {
  ASSIGN_OR_RETURN(const std::string body, ReadAt(file, 0, file.size()));
  return client.Put(key, body, WatchFor(progress, 0, file.size()));
}

}  // namespace

absl::StatusOr<bool> SendObject(S3Client& client, const std::string& sha256, int fd, S3Existing existing,
                                const S3Progress& progress) {
  const absl::StatusOr<RegularFile> opened = RegularFile::Open(absl::StrCat("/proc/self/fd/", fd));
  if (!opened.ok())
    return Annotate(opened.status(), absl::StrCat("the file of the artifact ", sha256, " to send"));
  const RegularFile& file = *opened;
  const std::uint64_t bytes = file.size();
  const std::string key = client.location().KeyOf(sha256);
  ASSIGN_OR_RETURN(const std::optional<S3Found> found, client.Head(key));
  if (found && found->bytes == bytes &&
      (existing == S3Existing::kKeep || found->age_seconds < kRecentSeconds)) {
    if (progress.on_bytes) progress.on_bytes(bytes, bytes);
    return false;
  }
  ASSIGN_OR_RETURN(const std::string digest, Sha256HexOfFile(file.path()));
  if (digest != sha256)
    return absl::DataLossError(absl::StrCat("the file of the artifact ", sha256, " has the SHA-256 ", digest,
                                            ": it was damaged on this machine, and is not sent"));
  const absl::Status sent = bytes > client.part_bytes() ? PartsUpload(client, key, file, progress).Run()
                                                        : PutWhole(client, key, file, progress);
  // Another upload of the same artifact has put the parts together.
  if (!sent.ok() && !absl::IsNotFound(sent)) return sent;
  ASSIGN_OR_RETURN(const std::optional<S3Found> there, client.Head(key));
  if (there && there->bytes == bytes) return true;
  if (!sent.ok()) return absl::AbortedError(absl::StrCat(std::string(sent.message()), "; it is sent again"));
  return absl::AbortedError(absl::StrCat(client.location().NameOf(key), " has ", there ? there->bytes : 0,
                                         " bytes after an upload of ", bytes, "; it is sent again"));
}

absl::Status FetchObject(S3Client& client, const std::string& sha256, PartFile& part,
                         const S3Progress& progress) {
  const std::string key = client.location().KeyOf(sha256);
  std::uint64_t total = 0;
  bool started = false;
  const auto take = [&](const S3Answer& answer, std::string_view data) -> absl::Status {
    if (!std::exchange(started, true)) {
      // Without a range the answer is the whole object.
      const std::uint64_t from = answer.range_start.value_or(0);
      if (from > part.size())
        return absl::UnavailableError(absl::StrCat("the answer begins at ", from, ", not at ", part.size()));
      RETURN_IF_ERROR(part.Shorten(from));
      total = answer.range_total.value_or(answer.content_length);
    }
    RETURN_IF_ERROR(part.Append(data));
    if (progress.on_moved) progress.on_moved(data.size());
    if (progress.on_bytes) progress.on_bytes(part.size(), total);
    return absl::OkStatus();
  };
  const std::uint64_t before = part.size();
  const absl::Status got = client.Get(key, before, take, {.is_cancelled = progress.is_cancelled});
  if (absl::IsOutOfRange(got) && before > 0) {
    // The part is whole, or longer than the object.
    ASSIGN_OR_RETURN(const std::optional<S3Found> found, client.Head(key));
    if (!found || found->bytes != before) {
      RETURN_IF_ERROR(part.Shorten(0));
      return absl::AbortedError(absl::StrCat("what was received differs from ", client.location().NameOf(key),
                                             "; it is fetched again"));
    }
  } else {
    RETURN_IF_ERROR(got);
    if (part.size() != total)
      return absl::UnavailableError(
          absl::StrCat(client.location().NameOf(key), " ended after ", part.size(), " of ", total, " bytes"));
  }
  return part.Complete(sha256);
}

absl::StatusOr<bool> MoveDamagedAway(S3Client& client, const std::string& sha256) {
  const std::string key = client.location().KeyOf(sha256);
  const absl::Status copied = client.Copy(key, client.location().DamagedKeyOf(sha256));
  if (!copied.ok()) {
    if (!absl::IsInvalidArgument(copied)) return copied;
    ASSIGN_OR_RETURN(const std::optional<S3Found> found, client.Head(key));
    if (found && found->bytes <= kCopyBytesMax) return copied;
  }
  RETURN_IF_ERROR(client.Delete(key));
  return copied.ok();
}

}  // namespace inlier
