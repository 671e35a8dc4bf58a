// A lock between processes: one holder of a file's lock at a time. The system releases it when the holder
// ends, however it ends; the file stays, and means nothing by itself.
#ifndef INLIER_BASE_FILE_LOCK_H_
#define INLIER_BASE_FILE_LOCK_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace inlier {

// Locks an open file until its last descriptor is closed. False: another holds it.
absl::StatusOr<bool> TryLock(int fd);

class FileLock {
 public:
  // Makes the file where it is not there, and waits for its lock without a limit; `waiting` (may be empty) is
  // called ten times a second meanwhile. Any user who may read the file can hold its lock: by default, `mode`, only
  // this one.
  static absl::StatusOr<FileLock> Acquire(const std::filesystem::path& path,
                                          const std::function<void()>& waiting, mode_t mode = kOwn);
  // The same without waiting; nullopt: another holds it.
  static absl::StatusOr<std::optional<FileLock>> TryAcquire(const std::filesystem::path& path);
  // A place beside any number of others that were acquired so, and beside none of the two above; waits as Acquire.
  static absl::StatusOr<FileLock> AcquireShared(const std::filesystem::path& path,
                                                const std::function<void()>& waiting);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

  // Who holds the lock of `path`, for people: "process 17 (sleep) of user 1000".
  static std::string HolderOf(const std::filesystem::path& path);

  int fd() const { return fd_; }  // Open for reading and writing.

 private:
  static constexpr mode_t kOwn = 0600;
  explicit FileLock(int fd) : fd_(fd) {}
  static absl::StatusOr<FileLock> Open(const std::filesystem::path& path, mode_t mode);  // Not locked yet.

  int fd_;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILE_LOCK_H_
