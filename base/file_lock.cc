#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/status.h"

namespace inlier {

namespace {

// `kind`: LOCK_EX or LOCK_SH. False: another's lock stands against it.
absl::StatusOr<bool> TryLock(int fd, int kind) {
  while (flock(fd, kind | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return ErrnoStatus("cannot lock");
  }
  return true;
}

// Polled, so that `waiting` can report that this process waits.
absl::Status Wait(int fd, int kind, const std::filesystem::path& path, const std::function<void()>& waiting) {
  for (;;) {
    const absl::StatusOr<bool> locked = TryLock(fd, kind);
    if (!locked.ok()) return Annotate(locked.status(), path.string());
    if (*locked) return absl::OkStatus();
    if (waiting) waiting();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

absl::StatusOr<bool> TryLock(int fd) { return TryLock(fd, LOCK_EX); }

absl::StatusOr<FileLock> FileLock::Open(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus("open the lock file " + path.string());
  return FileLock(fd);
}

absl::StatusOr<FileLock> FileLock::Acquire(const std::filesystem::path& path,
                                           const std::function<void()>& waiting) {
  ASSIGN_OR_RETURN(FileLock lock, Open(path));
  RETURN_IF_ERROR(Wait(lock.fd(), LOCK_EX, path, waiting));
  return lock;
}

absl::StatusOr<FileLock> FileLock::AcquireShared(const std::filesystem::path& path,
                                                 const std::function<void()>& waiting) {
  ASSIGN_OR_RETURN(FileLock lock, Open(path));
  RETURN_IF_ERROR(Wait(lock.fd(), LOCK_SH, path, waiting));
  return lock;
}

absl::StatusOr<std::optional<FileLock>> FileLock::TryAcquire(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(FileLock lock, Open(path));
  const absl::StatusOr<bool> locked = TryLock(lock.fd());
  if (!locked.ok()) return Annotate(locked.status(), path.string());
  std::optional<FileLock> held;
  if (*locked) held.emplace(std::move(lock));
  return held;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace inlier
