#include "base/files/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::uint64_t kSyncEveryBytes = 64 << 20;

}  // namespace

std::filesystem::path PartFile::NameOf(const std::filesystem::path& path) {
  return absl::StrCat(path.string(), ".part");
}

absl::StatusOr<std::unique_ptr<PartFile>> PartFile::Open(const std::filesystem::path& path) {
  const std::filesystem::path part = NameOf(path);
  // Its last holder may have renamed or removed the file before the lock was got: then another has that name.
  for (int tries = 0; tries < 10; ++tries) {
    Descriptor file(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (file.fd() < 0) return ErrnoStatus(absl::StrCat("cannot open ", part.string()));
    const absl::StatusOr<bool> locked = TryLock(file.fd());
    if (!locked.ok()) return Annotate(locked.status(), part.string());
    if (!*locked) return absl::UnavailableError(absl::StrCat(part.string(), " is being received already"));
    struct stat opened = {}, named = {};
    if (::fstat(file.fd(), &opened) != 0)
      return ErrnoStatus(absl::StrCat("cannot read the size of ", part.string()));
    if (::lstat(part.c_str(), &named) == 0 && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev)
      return std::unique_ptr<PartFile>(
          new PartFile(path, std::move(file), static_cast<std::uint64_t>(opened.st_size)));
  }
  return absl::UnavailableError(absl::StrCat(part.string(), " is being received by others"));
}

PartFile::PartFile(std::filesystem::path path, Descriptor file, std::uint64_t size)
    : path_(std::move(path)), file_(std::move(file)), size_(size) {}

absl::Status PartFile::Shorten(std::uint64_t bytes) {
  if (bytes == size_) return absl::OkStatus();
  if (::ftruncate(file_.fd(), static_cast<off_t>(bytes)) != 0) {
    return ErrnoStatus(absl::StrCat("cannot shorten ", NameOf(path_).string()));
  }
  size_ = bytes;
  return absl::OkStatus();
}

absl::Status PartFile::Sync() {
  unsynced_ = 0;
  if (::fdatasync(file_.fd()) == 0) return absl::OkStatus();
  const absl::Status status =
      ErrnoStatus(absl::StrCat("cannot write ", NameOf(path_).string(), " to the disk"));
  // The system may have dropped any of the pages, so none of them can be used.
  ::unlink(NameOf(path_).c_str());
  return status;
}

absl::Status PartFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.fd(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(absl::StrCat("cannot write ", NameOf(path_).string()));
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
    unsynced_ += static_cast<std::uint64_t>(written);
  }
  return unsynced_ >= kSyncEveryBytes ? Sync() : absl::OkStatus();
}

absl::Status PartFile::Complete(const std::string& sha256) {
  RETURN_IF_ERROR(Sync());
  const std::filesystem::path part = NameOf(path_);
  ASSIGN_OR_RETURN(const std::string digest, Sha256HexOfFile(part));
  if (digest != sha256) {
    ::unlink(part.c_str());
    return absl::DataLossError(absl::StrCat("what was received as ", path_.filename().string(),
                                            " has the SHA-256 ", digest, "; it is to be sent again"));
  }
  return RenameDurably(part, path_);
}

}  // namespace inlier
