#include "s3/object_transfer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::uint64_t kPartsMax = 10'000;                      // Of S3.
constexpr std::uint64_t kCopyBytesMax = std::uint64_t{5} << 30;  // The same, of a copy on the server.
constexpr std::uint64_t kMebibyte = 1 << 20;
constexpr std::int64_t kRecentSeconds = 30 * 60;  // Half of what a collection leaves alone.

absl::StatusOr<std::string> ReadAt(int fd, std::uint64_t offset, std::uint64_t count) {
  std::string bytes(count, '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("cannot read the file to send");
    if (got == 0) return absl::DataLossError("the file to send has become shorter");
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

// A file on its way to an object, in parts.
class PartsUpload {
 public:
  PartsUpload(S3Client& client, std::string key, int fd, std::uint64_t bytes, const S3Progress& progress)
      : client_(client), key_(std::move(key)), fd_(fd), bytes_(bytes), progress_(progress) {
    const std::uint64_t least = (bytes + kPartsMax - 1) / kPartsMax;
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
                       ReadAt(fd_, part_bytes_ * static_cast<std::uint64_t>(number - 1), SizeOf(number)));
      std::uint64_t before = 0;
      const S3Watch watch{.is_cancelled = progress_.is_cancelled, .on_moved = [&](std::uint64_t moved) {
                            Show(there + moved);
                            if (progress_.on_moved && moved > before) progress_.on_moved(moved - before);
                            before = moved;
                          }};
      ASSIGN_OR_RETURN(parts_[number], client_.PutPart(key_, id_, number, body, watch));
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

  // Finds the latest upload of this object, and the parts that it has. One in parts of another size is left to
  // `inlier gc`.
  absl::Status Continue() {
    ASSIGN_OR_RETURN(std::vector<S3MultipartUpload> uploads, client_.ListUploads(key_));
    std::erase_if(uploads, [&](const S3MultipartUpload& upload) { return upload.key != key_; });
    std::stable_sort(uploads.begin(), uploads.end(),
                     [](const auto& a, const auto& b) { return a.begun_seconds > b.begun_seconds; });
    for (const S3MultipartUpload& upload : uploads) {
      const absl::StatusOr<std::vector<S3Part>> parts = client_.ListParts(key_, upload.id);
      if (absl::IsNotFound(parts.status())) continue;
      RETURN_IF_ERROR(parts.status());
      const std::uint64_t count = (bytes_ + part_bytes_ - 1) / part_bytes_;
      const bool fits = std::all_of(parts->begin(), parts->end(), [&](const S3Part& part) {
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
  const int fd_;
  const std::uint64_t bytes_;
  const S3Progress& progress_;
  std::uint64_t part_bytes_ = 0;
  std::string id_;
  std::map<int, S3Part> parts_;  // That are there.
};

absl::Status PutWhole(S3Client& client, const std::string& key, int fd, std::uint64_t bytes,
                      const S3Progress& progress) {
  ASSIGN_OR_RETURN(const std::string body, ReadAt(fd, 0, bytes));
  std::uint64_t before = 0;
  const S3Watch watch{.is_cancelled = progress.is_cancelled, .on_moved = [&](std::uint64_t moved) {
                        if (progress.on_bytes) progress.on_bytes(moved, bytes);
                        if (progress.on_moved && moved > before) progress.on_moved(moved - before);
                        before = moved;
                      }};
  return client.Put(key, body, watch);
}

}  // namespace

absl::StatusOr<bool> SendObject(S3Client& client, const std::string& sha256, int fd, S3Existing existing,
                                const S3Progress& progress) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return ErrnoStatus("cannot look at the file to send");
  const auto bytes = static_cast<std::uint64_t>(file.st_size);
  const std::string key = client.location().KeyOf(sha256);
  ASSIGN_OR_RETURN(const std::optional<S3Found> found, client.Head(key));
  if (found && found->bytes == bytes &&
      (existing == S3Existing::kKeep || found->age_seconds < kRecentSeconds)) {
    if (progress.on_bytes) progress.on_bytes(bytes, bytes);
    return false;
  }
  ASSIGN_OR_RETURN(const std::string digest, Sha256HexOfFile(absl::StrCat("/proc/self/fd/", fd)));
  if (digest != sha256)
    return absl::DataLossError(absl::StrCat("the file of the artifact ", sha256, " has the SHA-256 ", digest,
                                            ": it was damaged on this machine, and is not sent"));
  const absl::Status sent = bytes > client.part_bytes() ? PartsUpload(client, key, fd, bytes, progress).Run()
                                                        : PutWhole(client, key, fd, bytes, progress);
  // Another one that sends the same artifact has put the parts together.
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
    // It is whole, or longer than the object.
    ASSIGN_OR_RETURN(const std::optional<S3Found> found, client.Head(key));
    if (!found || found->bytes != before) {
      RETURN_IF_ERROR(part.Shorten(0));
      return absl::AbortedError(absl::StrCat("what was received is no part of ",
                                             client.location().NameOf(key), "; it is fetched again"));
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
