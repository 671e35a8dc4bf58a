// Files as the durability rules need them: read whole, replaced as one, synced to the disk.
//
// Errors are absl::Status with the path and the system's reason in the message.
#ifndef INLIER_BASE_FILES_FILE_H_
#define INLIER_BASE_FILES_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// The whole content of `path`, a regular file. NotFound when there is no such file.
absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path);

// The same, also of a pipe, such as a shell's <(…), and of a device. InvalidArgument beyond `bytes_max` bytes.
absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path, std::size_t bytes_max);

// Replaces `path` by `content` (AtomicFile in one piece).
absl::Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content,
                                 mode_t mode = 0644);

// Writes all of `bytes` to `fd`. False: errno has the reason.
bool WriteAll(int fd, std::string_view bytes);

// Writes `content` as the whole of `path` without waiting for the disk: for a file that need not survive a power cut.
absl::Status WriteFile(const std::filesystem::path& path, std::string_view content, mode_t mode = 0644);

// Renames `from` to `to` on one file system, replacing `to`; both folders are on disk when this returns OK.
absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to);

// Writes the content of a file (or the entries of a folder) to the disk.
absl::Status SyncPath(const std::filesystem::path& path);

// True for a name of ASCII letters, digits, ".", "_" and "-" that does not begin with ".".
bool IsFileName(std::string_view name);

// Bytes of a file; 0 where its size cannot be read.
std::uint64_t SizeOf(const std::filesystem::path& file);

// The entries of `folder` by name, without the probes of MakeWritableFolder; after an error those read before it.
std::vector<std::filesystem::path> EntriesOf(const std::filesystem::path& folder);

// Makes `folder` with its parents. The error names the folder and the remedy.
absl::Status MakeFolder(const std::filesystem::path& folder);

// The same, and proves that files can be written in it.
absl::Status MakeWritableFolder(const std::filesystem::path& folder);

}  // namespace inlier

#endif  // INLIER_BASE_FILES_FILE_H_
