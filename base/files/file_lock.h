// A lock between processes: one holder of a file's lock at a time. The system releases it when the holder
// ends, however it ends; the file stays, and means nothing by itself.
//
// That of a state folder is <state_dir>/inlier.lock: the process that holds it is the folder's coordinator, and no other is. The
// file has the holder's process id, for messages, and a note on the folder's database. It is never removed: two processes could
// then lock two files of one name.
#ifndef INLIER_BASE_FILES_FILE_LOCK_H_
#define INLIER_BASE_FILES_FILE_LOCK_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// Locks an open file until its last descriptor is closed. False: another holds it.
absl::StatusOr<bool> TryLock(int fd);

// Whether a process holds the exclusive lock of a file: kUnknown where the file cannot be opened or the file system tells nothing.
enum class LockUse { kFree, kHeld, kUnknown };

class FileLock {
 public:
  // Looks, for some microseconds with a shared lock, which a TryAcquire at the same moment finds. Makes no file.
  static LockUse Probe(const std::filesystem::path& path);

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

// Exit status of a coordinator whose database failed while it worked. It is not started again before somebody has looked.
inline constexpr int kExitDatabase = 3;

std::filesystem::path StateLockPath(const std::filesystem::path& state_dir);

// Takes the exclusive right to a state folder, until the object or the process ends. FailedPrecondition, naming the process,
// when another one holds it.
absl::StatusOr<FileLock> LockStateFolder(const std::filesystem::path& state_dir);
// The same; nullopt when another process holds it.
absl::StatusOr<std::optional<FileLock>> TryLockStateFolder(const std::filesystem::path& state_dir);

// A line that the folder's coordinator keeps in the file (coordinator/store/folder/binding.h); empty: none.
std::string FolderNote(const std::filesystem::path& state_dir);
absl::Status SetFolderNote(const FileLock& lock, const std::string& note);

// The number of a file on its file system, 0 where it is not there. A copy has another one, a renamed folder's file the same.
std::uint64_t InodeOf(const std::filesystem::path& file);

}  // namespace inlier

#endif  // INLIER_BASE_FILES_FILE_LOCK_H_
