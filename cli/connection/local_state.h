// The state folder of `inlier up`: closed to other users, with tokens that only its user can read.
//
//   DIR/token         what this user's programs call the coordinator with (role admin)
//   DIR/worker.token  the local worker's (role work)
//   DIR/tokens        the coordinator's tokens_file: the hashes of both, and of `inlier token add --dir DIR`
//   DIR/run.lock      held (shared) by every `inlier run` that needs the daemons
//   DIR/up.lock       held by the `inlier up` or `inlier run` that starts the daemons, and starts them again
//
// The tokens stay the same from one start to the next. Thread safety: none.
#ifndef INLIER_CLI_CONNECTION_LOCAL_STATE_H_
#define INLIER_CLI_CONNECTION_LOCAL_STATE_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

// Makes the folder and closes it to other users: it gets mode 0700, and the files in it and in its logs/ lose the
// permissions of others. PermissionDenied when it cannot be made, or it or a link in its place is another user's.
absl::Status CloseStateFolder(const std::filesystem::path& dir);

std::filesystem::path RunLockFile(const std::filesystem::path& dir);
std::filesystem::path UpLockFile(const std::filesystem::path& dir);

std::filesystem::path LocalTokensFile(const std::filesystem::path& dir);
std::filesystem::path WorkerTokenFile(const std::filesystem::path& dir);

// Makes the tokens that are missing; returns this user's. REQUIRES: CloseStateFolder(dir) was OK.
absl::StatusOr<std::string> MakeLocalTokens(const std::filesystem::path& dir);

// Removes the two token files, for a coordinator that gets its callers from elsewhere.
void RemoveLocalTokens(const std::filesystem::path& dir);

}  // namespace inlier

#endif  // INLIER_CLI_CONNECTION_LOCAL_STATE_H_
