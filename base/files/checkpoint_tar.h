// What a program saved, a file or a folder, as one file, by GNU tar: the same content gives the same bytes.
//
// Errors name what is wrong with the files, or what tar printed. Waits for the disk.
// Thread safety: pure functions over the file system; packing, and whatever is done as another user, in a process of one
// thread (a child of it looks at the files and becomes the user).
#ifndef INLIER_BASE_FILES_CHECKPOINT_TAR_H_
#define INLIER_BASE_FILES_CHECKPOINT_TAR_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// Packs `relative`, a file or folder below `output`, under its own name into `tar`, a new file; nothing where it is empty. As
// `user` (empty: this process'), who can swap what is there meanwhile. Only files, folders and links that stay in what is
// packed: a later attempt may be on another machine.
absl::Status PackCheckpoint(const std::filesystem::path& output, const std::filesystem::path& relative,
                            const std::string& user, const std::filesystem::path& tar);

// Unpacks into `folder`, which is made, as `user`: a program may have written what is in `tar`. The path of what was packed;
// empty: nothing was.
absl::StatusOr<std::filesystem::path> UnpackCheckpoint(const std::filesystem::path& tar,
                                                       const std::filesystem::path& folder,
                                                       const std::string& user = "");

}  // namespace inlier

#endif  // INLIER_BASE_FILES_CHECKPOINT_TAR_H_
