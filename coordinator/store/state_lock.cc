#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/store/database.h"

namespace inlier {

absl::StatusOr<std::unique_ptr<StateLock>> StateLock::Take(const std::filesystem::path& state_dir) {
  const std::string path = (state_dir / "inlier.lock").string();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(absl::StrCat("opening the lock file ", path));
  std::unique_ptr<StateLock> lock(new StateLock(fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(absl::StrCat("locking ", path));
    char holder[32] = {};
    const ssize_t length = ::pread(fd, holder, sizeof(holder) - 1, 0);
    std::string pid(holder, length > 0 ? static_cast<std::size_t>(length) : 0);
    while (!pid.empty() && (pid.back() < '0' || pid.back() > '9')) pid.pop_back();
    return absl::FailedPreconditionError(
        absl::StrCat("the state folder ", state_dir.string(), " is in use by another coordinator (pid ",
                     pid.empty() ? "unknown" : pid,
                     "); stop that one, or name another folder with --set state_dir=FOLDER"));
  }
  const std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return ErrnoStatus(absl::StrCat("writing the lock file ", path));
  }
  return lock;
}

// Closing the only descriptor of the open file releases the lock. The file stays: removing it would let two
// processes lock two files of one name.
StateLock::~StateLock() { ::close(fd_); }

}  // namespace inlier
