#include "core/data/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/status.h"

namespace inlier {

absl::StatusOr<FileLock> FileLock::Acquire(const std::filesystem::path& path,
                                           const std::function<void()>& waiting) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus("open the lock file " + path.string());
  FileLock lock(fd);
  // Tried again and again rather than waited for, so that whoever waits can say so and be seen alive.
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return ErrnoStatus("lock " + path.string());
    if (waiting) waiting();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace inlier
