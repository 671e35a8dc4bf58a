#include "base/files/file_lock.h"

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
#include "base/files/file.h"
#include "base/status.h"

namespace inlier {

namespace {

// `kind` is LOCK_EX or LOCK_SH. False where another's lock excludes it.
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

// FileLock::Probe of another program has the lock for a moment.
constexpr int kTries = 10;
constexpr auto kPause = std::chrono::milliseconds(20);

// The line of the file, counted from 0; empty where there is none.
std::string Line(const std::string& content, std::size_t index) {
  const std::vector<std::string> lines = absl::StrSplit(content, '\n');
  return index < lines.size() ? lines[index] : "";
}

absl::Status WriteOwner(const FileLock& lock, const std::string& note) {
  const std::string text = absl::StrCat(::getpid(), "\n", note, note.empty() ? "" : "\n");
  if (::pwrite(lock.fd(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
      ::ftruncate(lock.fd(), static_cast<off_t>(text.size())) == 0)
    return absl::OkStatus();
  return ErrnoStatus("writing the lock file of the state folder");
}

}  // namespace

absl::StatusOr<bool> TryLock(int fd) { return TryLock(fd, LOCK_EX); }

LockUse FileLock::Probe(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? LockUse::kFree : LockUse::kUnknown;
  const FileLock probe(fd);
  const absl::StatusOr<bool> free = TryLock(fd, LOCK_SH);
  if (!free.ok()) return LockUse::kUnknown;
  return *free ? LockUse::kFree : LockUse::kHeld;
}

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

std::filesystem::path StateLockPath(const std::filesystem::path& state_dir) {
  return state_dir / "inlier.lock";
}

absl::StatusOr<FileLock> LockStateFolder(const std::filesystem::path& state_dir) {
  for (int tries = 1;; ++tries) {
    ASSIGN_OR_RETURN(std::optional<FileLock> lock, TryLockStateFolder(state_dir));
    if (lock) return *std::move(lock);
    if (tries < kTries) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    const std::string pid = Line(ReadFile(StateLockPath(state_dir)).value_or(""), 0);
    return absl::FailedPreconditionError(
        absl::StrCat("the state folder ", state_dir.string(), " is in use by another coordinator (pid ",
                     pid.empty() ? "unknown" : pid,
                     "); stop that one, or name another folder with --set state_dir=FOLDER"));
  }
}

absl::StatusOr<std::optional<FileLock>> TryLockStateFolder(const std::filesystem::path& state_dir) {
  ASSIGN_OR_RETURN(std::optional<FileLock> lock, FileLock::TryAcquire(StateLockPath(state_dir)));
  if (lock) RETURN_IF_ERROR(WriteOwner(*lock, FolderNote(state_dir)));
  return lock;
}

std::string FolderNote(const std::filesystem::path& state_dir) {
  return Line(ReadFile(StateLockPath(state_dir)).value_or(""), 1);
}

absl::Status SetFolderNote(const FileLock& lock, const std::string& note) {
  RETURN_IF_ERROR(WriteOwner(lock, note));
  if (::fdatasync(lock.fd()) != 0) return ErrnoStatus("writing the lock file of the state folder");
  return absl::OkStatus();
}

std::uint64_t InodeOf(const std::filesystem::path& file) {
  struct stat info = {};
  return ::stat(file.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_ino) : 0;
}

}  // namespace inlier
