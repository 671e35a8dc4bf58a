#include "coordinator/artifacts/artifact_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/uuid.h"

namespace inlier {
namespace {

absl::Status CheckDigest(const std::string& sha256) {
  if (IsSha256Hex(sha256)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("sha256: '", sha256.substr(0, 80), "' is not a SHA-256 in lower-case hexadecimal"));
}

absl::Status TakenOver() {
  return absl::AbortedError("another upload of this artifact continues it; ask Stat how far it is");
}

bool IsFile(const std::filesystem::path& path, struct stat* found) {
  return ::lstat(path.c_str(), found) == 0 && S_ISREG(found->st_mode);
}

}  // namespace

// An upload in progress. A second one that takes it over sets `owner` under `mutex`, so two never write at
// once.
struct ArtifactStore::Upload::Active {
  std::mutex mutex;
  Upload* owner = nullptr;
  Timestamp last_write;
  std::uint64_t missing = 0;  // Bytes still to come.
};

ArtifactStore::ArtifactStore(std::filesystem::path folder, std::string id, ArtifactStoreLimits limits)
    : folder_(std::move(folder)), id_(std::move(id)), limits_(limits) {}

absl::StatusOr<std::unique_ptr<ArtifactStore>> ArtifactStore::Open(const std::filesystem::path& state_dir,
                                                                   ArtifactStoreLimits limits) {
  const std::filesystem::path folder = state_dir / "artifacts";
  RETURN_IF_ERROR(MakeWritableFolder(folder));
  const std::string id = RandomUuid();
  RETURN_IF_ERROR(WriteFileAtomically(folder / "store.id", id));
  return std::unique_ptr<ArtifactStore>(new ArtifactStore(folder, id, limits));
}

std::filesystem::path ArtifactStore::PathOf(const std::string& sha256) const {
  return folder_ / absl::StrCat(sha256, ".safetensors");
}

bool ArtifactStore::HasSound(const std::string& sha256) {
  const std::filesystem::path path = PathOf(sha256);
  const absl::Status sound = files_.Check(path, sha256);
  if (absl::IsDataLoss(sound))
    spdlog::error("artifact_damaged sha256={} reason={} done={}", sha256, LogText(sound.message()),
                  LogText(PutAside(path)));
  if (sound.ok()) files_.MarkUsed(path);
  return sound.ok();
}

absl::StatusOr<ArtifactStore::Found> ArtifactStore::Stat(const std::string& sha256) {
  RETURN_IF_ERROR(CheckDigest(sha256));
  const bool sound = HasSound(sha256);
  const std::lock_guard lock(mutex_);
  Found found;
  struct stat file {};
  const std::filesystem::path path = PathOf(sha256);
  if (sound && IsFile(path, &file)) {
    found.complete = true;
    found.bytes = static_cast<std::uint64_t>(file.st_size);
  } else if (IsFile(PartFile::NameOf(path), &file)) {
    found.received = static_cast<std::uint64_t>(file.st_size);
  }
  return found;
}

absl::Status ArtifactStore::CheckRoom(std::uint64_t wanted) const {
  struct statvfs disk {};
  if (::statvfs(folder_.c_str(), &disk) != 0)
    return ErrnoStatus(absl::StrCat("cannot examine the disk of ", folder_.string()));
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  std::uint64_t promised = limits_.disk_reserve_bytes;
  for (const auto& [sha256, active] : uploads_) {
    const std::lock_guard lock(active->mutex);
    promised += active->missing;
  }
  const std::uint64_t room = free_bytes > promised ? free_bytes - promised : 0;
  if (wanted <= room) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the artifact needs ", wanted, " bytes more and the coordinator's disk has room for ",
                   room, "; free space on the disk of ", folder_.string(), ", for example by `inlier gc`"));
}

absl::StatusOr<std::unique_ptr<ArtifactStore::Upload>> ArtifactStore::BeginUpload(const std::string& sha256,
                                                                                  std::uint64_t bytes,
                                                                                  std::uint64_t offset) {
  RETURN_IF_ERROR(CheckDigest(sha256));
  if (bytes == 0 || offset > bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes: ", bytes, " and offset: ", offset, " are not those of an artifact"));
  }
  const bool sound = HasSound(sha256);
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Upload> upload(new Upload(*this, sha256, bytes));
  const std::filesystem::path path = PathOf(sha256);
  if (struct stat file{}; sound && IsFile(path, &file)) return upload;
  const Timestamp now = MonotonicNow();
  // Uploads of dead connections are dropped first.
  for (auto at = uploads_.begin(); at != uploads_.end();) {
    const std::shared_ptr<Upload::Active> active = at->second;
    const std::lock_guard active_lock(active->mutex);
    if (now - active->last_write < limits_.silence) {
      ++at;
      continue;
    }
    if (active->owner != nullptr) active->owner->part_.reset();
    active->owner = nullptr;
    at = uploads_.erase(at);
  }
  if (uploads_.contains(sha256)) {
    return absl::UnavailableError("another upload of this artifact is under way; ask Stat how far it is");
  }
  if (uploads_.size() >= static_cast<std::size_t>(limits_.uploads_max)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", uploads_.size(), " uploads already, the most at once; try again"));
  }
  ASSIGN_OR_RETURN(upload->part_, PartFile::Open(path));
  if (upload->part_->size() < offset) {
    return absl::OutOfRangeError(absl::StrCat("offset: ", offset, ", but only ", upload->part_->size(),
                                              " bytes are here; continue from there"));
  }
  RETURN_IF_ERROR(upload->part_->Shorten(offset));
  RETURN_IF_ERROR(CheckRoom(bytes - offset));
  upload->active_ = std::make_shared<Upload::Active>();
  upload->active_->owner = upload.get();
  upload->active_->last_write = now;
  upload->active_->missing = bytes - offset;
  uploads_.emplace(sha256, upload->active_);
  return upload;
}

ArtifactStore::Upload::Upload(ArtifactStore& store, std::string sha256, std::uint64_t bytes)
    : store_(store), sha256_(std::move(sha256)), bytes_(bytes) {}

ArtifactStore::Upload::~Upload() {
  if (active_ == nullptr) return;
  const std::lock_guard lock(store_.mutex_);
  const std::lock_guard active_lock(active_->mutex);
  if (active_->owner == this) store_.uploads_.erase(sha256_);
}

absl::Status ArtifactStore::Upload::Write(std::uint64_t offset, std::string_view bytes) {
  if (active_ == nullptr) return absl::OkStatus();  // Already complete.
  const std::lock_guard lock(active_->mutex);
  if (active_->owner != this) return TakenOver();
  if (offset != part_->size() || bytes.size() > bytes_ - part_->size()) {
    return absl::InvalidArgumentError(absl::StrCat("chunk.offset: ", offset, " with ", bytes.size(),
                                                   " bytes; expected ", part_->size(), " and at most ",
                                                   bytes_ - part_->size()));
  }
  active_->last_write = MonotonicNow();
  const absl::Status written = part_->Append(bytes);
  active_->missing = bytes_ - part_->size();
  return written;
}

absl::Status ArtifactStore::Upload::Complete() {
  if (active_ == nullptr) return absl::OkStatus();
  std::unique_ptr<PartFile> part;
  {
    const std::lock_guard lock(active_->mutex);
    if (active_->owner != this) return TakenOver();
    if (part_->size() != bytes_) {
      return absl::AbortedError(absl::StrCat("the upload ended after ", part_->size(), " of ", bytes_,
                                             " bytes; continue from there"));
    }
    // No upload takes over one that is being checked: it keeps its lock on the file until it has its name.
    part = std::move(part_);
    active_->owner = nullptr;
  }
  const absl::Status completed = part->Complete(sha256_);
  const std::lock_guard lock(store_.mutex_);
  store_.uploads_.erase(sha256_);
  return completed;
}

absl::StatusOr<std::unique_ptr<ArtifactStore::Download>> ArtifactStore::BeginDownload(
    const std::string& sha256, std::uint64_t offset) {
  RETURN_IF_ERROR(CheckDigest(sha256));
  const std::filesystem::path path = PathOf(sha256);
  const bool sound = HasSound(sha256);
  Descriptor opened(sound ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1);
  if (struct stat file{}; !sound && IsFile(path.string() + kDamagedSuffix, &file)) {
    return absl::NotFoundError(
        absl::StrCat("the coordinator's copy of ", sha256,
                     " was damaged, and was put aside; a worker that is connected and has a copy sends it "
                     "again; without one put a sound one in artifacts/ of the coordinator's state_dir, or "
                     "train the model again by `inlier submit --again`"));
  }
  if (!sound || (opened.fd() < 0 && errno == ENOENT)) {
    return absl::NotFoundError(absl::StrCat("the coordinator has no artifact ", sha256,
                                            " in its state_dir; the worker that made it keeps its artifacts "
                                            "in another folder: set `artifacts: STREAMED` there"));
  }
  struct stat file {};
  if (opened.fd() < 0 || ::fstat(opened.fd(), &file) != 0)
    return ErrnoStatus(absl::StrCat("cannot read ", path.string()));
  const auto bytes = static_cast<std::uint64_t>(file.st_size);
  if (offset <= bytes) return std::make_unique<Download>(std::move(opened), bytes, offset);
  return absl::OutOfRangeError(absl::StrCat("offset: ", offset, " is behind the artifact's end at ", bytes));
}

absl::StatusOr<std::string> ArtifactStore::Download::Read(std::size_t count) {
  std::string bytes(std::min<std::uint64_t>(count, bytes_ - offset_), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::pread(file_.fd(), bytes.data() + filled, bytes.size() - filled,
                                static_cast<off_t>(offset_ + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("cannot read the artifact");
    if (got == 0) return absl::DataLossError("the artifact has become shorter while it was read");
    filled += static_cast<std::size_t>(got);
  }
  offset_ += filled;
  return bytes;
}

absl::StatusOr<bool> ArtifactStore::RemoveIfOlder(const std::filesystem::path& path, Duration age,
                                                  WallTime now, bool dry_run) {
  const std::lock_guard lock(mutex_);
  struct stat file {};
  if (!IsFile(path, &file)) return false;
  const std::int64_t touched_ms =
      static_cast<std::int64_t>(file.st_mtim.tv_sec) * 1000 + file.st_mtim.tv_nsec / 1'000'000;
  const std::int64_t age_ms = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
  if (now.unix_ms - touched_ms < age_ms) return false;
  for (const auto& [sha256, active] : uploads_) {
    if (PartFile::NameOf(PathOf(sha256)) == path) return false;
  }
  if (dry_run) return true;
  if (::unlink(path.c_str()) != 0) return ErrnoStatus(absl::StrCat("cannot remove ", path.string()));
  return true;
}

}  // namespace inlier
