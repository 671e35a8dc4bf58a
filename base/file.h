// Files as the durability rules need them: read whole, replaced as one, synced to the disk.
//
// Errors are absl::Status with the path and the system's reason in the message.
#ifndef INLIER_BASE_FILE_H_
#define INLIER_BASE_FILE_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// The whole content of `path`. NotFound when there is no such file.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path);

// Replaces `path` by `content` (AtomicFile in one piece).
absl::Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content,
                                 mode_t mode = 0644);

// Renames `from` to `to` on one file system, replacing `to`; both folders are on disk when this returns OK.
absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to);

// Writes the content of a file (or the entries of a folder) to the disk.
absl::Status SyncPath(const std::filesystem::path& path);

// Makes `folder` with its parents and proves that files can be written in it. The error names the folder and
// the remedy.
absl::Status MakeWritableFolder(const std::filesystem::path& folder);

}  // namespace inlier

#endif  // INLIER_BASE_FILE_H_
