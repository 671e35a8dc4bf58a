// Replaces a file as one: a reader, and a machine that loses power, sees the old file or the new one.
#ifndef INLIER_BASE_FILES_ATOMIC_FILE_H_
#define INLIER_BASE_FILES_ATOMIC_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/files/descriptor.h"

namespace inlier {

// Writes to a temporary file next to `path`, which replaces `path` in Commit(); without Commit() `path` is
// unchanged. In one piece: WriteFileAtomically (file.h).
//
// Owner and permissions of a replaced file stay, where the system allows it; a link, and another user's file that
// cannot be given back to them, become a file of this user. A new file has the bits of `mode` that the umask leaves.
class AtomicFile {
 public:
  enum class Old { kKeepsAccess, kIsForgotten };

  explicit AtomicFile(std::filesystem::path path, mode_t mode = 0644, Old old = Old::kKeepsAccess);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  absl::Status Append(std::string_view bytes);
  // Overwrites bytes already written.
  absl::Status WriteAt(std::size_t offset, std::string_view bytes);
  // The content and the folder are on disk when this returns OK.
  absl::Status Commit();

 private:
  absl::Status Open();

  const std::filesystem::path path_;
  const mode_t mode_;
  const Old old_;
  std::string temporary_;
  Descriptor file_;
};

// Replaces `path`, of any kind and owner, by a file that only this user may read and write: for tokens and keys.
absl::Status WriteSecretFile(const std::filesystem::path& path, std::string_view content);

}  // namespace inlier

#endif  // INLIER_BASE_FILES_ATOMIC_FILE_H_
