// A lock between processes: one holder of a file's lock at a time. The system gives it back when the holder
// ends, however it ends; the file stays and means nothing.
#ifndef INLIER_CORE_DATA_FILE_LOCK_H_
#define INLIER_CORE_DATA_FILE_LOCK_H_

#include <filesystem>
#include <functional>

#include "absl/status/statusor.h"

namespace inlier {

class FileLock {
 public:
  // Waits for the lock as long as it takes; `waiting` (may be empty) is called a few times a second
  // meanwhile.
  static absl::StatusOr<FileLock> Acquire(const std::filesystem::path& path,
                                          const std::function<void()>& waiting);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_FILE_LOCK_H_
