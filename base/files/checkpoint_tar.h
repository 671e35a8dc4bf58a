// What a program saved, a file or a folder, as one file, by GNU tar: the same content gives the same bytes.
//
// Errors name what tar printed. Waits for the disk. Thread safety: pure functions over the file system.
#ifndef INLIER_BASE_FILES_CHECKPOINT_TAR_H_
#define INLIER_BASE_FILES_CHECKPOINT_TAR_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// Packs `path` under its own name into `tar`, a new file; nothing where `path` is empty.
absl::Status PackCheckpoint(const std::filesystem::path& path, const std::filesystem::path& tar);

// Unpacks into `folder`, which is made. The path of what was packed; empty: nothing was.
absl::StatusOr<std::filesystem::path> UnpackCheckpoint(const std::filesystem::path& tar,
                                                       const std::filesystem::path& folder);

}  // namespace inlier

#endif  // INLIER_BASE_FILES_CHECKPOINT_TAR_H_
