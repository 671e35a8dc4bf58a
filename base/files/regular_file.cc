#include "base/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

const char* KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a folder";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

absl::Status CannotRead(const std::filesystem::path& path) {
  return ErrnoStatus(absl::StrCat("cannot read ", path.string()));
}

// The fstat of an open file, which must be a regular one.
absl::StatusOr<struct stat> StatRegular(int fd, const std::filesystem::path& path) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return CannotRead(path);
  if (S_ISREG(info.st_mode)) return info;
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), " is ", KindOf(info.st_mode), ", not a regular file"));
}

}  // namespace

absl::StatusOr<RegularFile> RegularFile::Open(const std::filesystem::path& path, const DataRoots& roots) {
  // First its place in the file system, which opens neither a pipe nor a device.
  const RegularFile place(path, ::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.fd() < 0) return CannotRead(path);
  RETURN_IF_ERROR(roots.CheckOpened(place.fd(), path));
  ASSIGN_OR_RETURN(const struct stat found, StatRegular(place.fd(), path));
  RegularFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd() < 0) return CannotRead(path);
  ASSIGN_OR_RETURN(const struct stat opened, StatRegular(file.fd(), path));
  if (opened.st_dev != found.st_dev || opened.st_ino != found.st_ino)
    return absl::UnavailableError(
        absl::StrCat(path.string(), " was replaced while it was opened; try again"));
  file.size_ = static_cast<std::uint64_t>(opened.st_size);
  return file;
}

absl::StatusOr<std::size_t> RegularFile::ReadAt(std::uint64_t offset, void* to, std::size_t bytes) const {
  constexpr std::size_t kPieceMax = 1U << 30;
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd(), static_cast<char*>(to) + done, std::min(bytes - done, kPieceMax),
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace inlier
