// A lock between processes, of one holder at a time, which the system releases when the holder ends.
//
// The process that holds <state_dir>/inlier.lock is the folder's coordinator. The file has its process id and a note
// on the folder's database. It is never removed: two processes could then lock two files of one name.
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
#include "base/files/descriptor.h"

namespace inlier {

// Locks an open file until its last descriptor is closed; false where another holds it.
absl::StatusOr<bool> TryLock(int fd);

// The state of a file's exclusive lock; kUnknown where the file or its file system gives no answer.
enum class LockUse { kFree, kHeld, kUnknown };

class FileLock {
 public:
  // Holds a shared lock for some microseconds, which a TryAcquire at that moment finds. Makes no file.
  static LockUse Probe(const std::filesystem::path& path);

  // Makes the file where it is absent, and waits for its lock without a limit; `waiting` (may be empty) is called
  // ten times a second meanwhile. Any user who may read the file (`mode`) can hold its lock.
  static absl::StatusOr<FileLock> Acquire(const std::filesystem::path& path,
                                          const std::function<void()>& waiting, mode_t mode = kOwn);
  // The same without waiting; nullopt where another holds it.
  static absl::StatusOr<std::optional<FileLock>> TryAcquire(const std::filesystem::path& path);
  // Excludes the two above and not others of its own kind; waits as Acquire.
  static absl::StatusOr<FileLock> AcquireShared(const std::filesystem::path& path,
                                                const std::function<void()>& waiting);

  // Who holds the lock of `path`: "process 17 (sleep) of user 1000".
  static std::string HolderOf(const std::filesystem::path& path);

  int fd() const { return file_.fd(); }  // Open for reading and writing.

 private:
  static constexpr mode_t kOwn = 0600;
  explicit FileLock(int fd) : file_(fd) {}
  static absl::StatusOr<FileLock> Open(const std::filesystem::path& path, mode_t mode);  // Not locked yet.

  Descriptor file_;
};

// Exit status of a coordinator whose database failed while it worked: it must not be restarted automatically.
inline constexpr int kExitDatabase = 3;

std::filesystem::path StateLockPath(const std::filesystem::path& state_dir);

// Takes the exclusive right to a state folder, until the object ends. FailedPrecondition names another holder.
absl::StatusOr<FileLock> LockStateFolder(const std::filesystem::path& state_dir);
// The same; nullopt when another process holds it.
absl::StatusOr<std::optional<FileLock>> TryLockStateFolder(const std::filesystem::path& state_dir);

// A line that the folder's coordinator keeps in the file (coordinator/store/folder/binding.h); may be empty.
std::string FolderNote(const std::filesystem::path& state_dir);
absl::Status SetFolderNote(const FileLock& lock, const std::string& note);

// The number of a file on its file system, 0 where it is absent. A copy has another one; a rename keeps it.
std::uint64_t InodeOf(const std::filesystem::path& file);

}  // namespace inlier

#endif  // INLIER_BASE_FILES_FILE_LOCK_H_
