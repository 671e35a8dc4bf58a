// Processes and files of other users, for a process that runs as root. An empty name is this process' own user: nothing is done.
//
// Thread safety: pure functions over the password database and the file system.
#ifndef INLIER_BASE_PROCESSES_OTHER_USER_H_
#define INLIER_BASE_PROCESSES_OTHER_USER_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"

namespace inlier {

// Makes this process, which is a child between fork and exec of a process of one thread, the user's with all its groups. The
// step that failed (errno has the reason), or nullptr.
const char* BecomeUser(const std::string& name);

// Gives a file or folder to the user alone.
absl::Status GiveTo(const std::string& user, const std::filesystem::path& path);

}  // namespace inlier

#endif  // INLIER_BASE_PROCESSES_OTHER_USER_H_
