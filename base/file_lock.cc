#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
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

absl::StatusOr<FileLock> FileLock::Open(const std::filesystem::path& path, mode_t mode) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return ErrnoStatus("open the lock file " + path.string());
  if (mode == kOwn) fchmod(fd, mode);  // An older file of this user; another's cannot be changed.
  return FileLock(fd);
}

std::string FileLock::HolderOf(const std::filesystem::path& path) {
  struct stat info = {};
  ::stat(path.c_str(), &info);
  const std::string file =
      absl::StrFormat(" %02x:%02x:%d ", major(info.st_dev), minor(info.st_dev), info.st_ino);
  const absl::StatusOr<std::string> locks = ReadFile("/proc/locks");
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(locks.value_or(""), '\n'))) {
    // "1: FLOCK ADVISORY WRITE 17 fd:00:1234 0 EOF"; one that waits has an arrow.
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (!absl::StrContains(line, file) || words.size() < 6 || words[1] != "FLOCK") continue;
    const std::string process = "/proc/" + words[4];
    if (::stat(process.c_str(), &info) != 0) break;
    const absl::StatusOr<std::string> name = ReadFile(process + "/comm");
    return absl::StrCat("process ", words[4], " (", absl::StripAsciiWhitespace(name.value_or("?")),
                        ") of user ", info.st_uid);
  }
  return "another process";
}

absl::StatusOr<FileLock> FileLock::Acquire(const std::filesystem::path& path,
                                           const std::function<void()>& waiting, mode_t mode) {
  ASSIGN_OR_RETURN(FileLock lock, Open(path, mode));
  RETURN_IF_ERROR(Wait(lock.fd(), LOCK_EX, path, waiting));
  return lock;
}

absl::StatusOr<FileLock> FileLock::AcquireShared(const std::filesystem::path& path,
                                                 const std::function<void()>& waiting) {
  ASSIGN_OR_RETURN(FileLock lock, Open(path, kOwn));
  RETURN_IF_ERROR(Wait(lock.fd(), LOCK_SH, path, waiting));
  return lock;
}

absl::StatusOr<std::optional<FileLock>> FileLock::TryAcquire(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(FileLock lock, Open(path, kOwn));
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
