// <state_dir>/endpoint.json: the addresses of a running coordinator. Written when it listens, removed when it
// stops, and at the next start where it was killed. Which coordinator is a folder's is decided by the folder's lock (base/files/file_lock.h).
#ifndef INLIER_RPC_ENDPOINT_FILE_H_
#define INLIER_RPC_ENDPOINT_FILE_H_

#include <filesystem>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

std::filesystem::path EndpointFilePath(const std::filesystem::path& state_dir);

// Replaces the file atomically.
absl::Status WriteEndpointFile(const std::filesystem::path& state_dir, const v1::Endpoint& endpoint);

// NotFound when there is no file; DataLoss when it cannot be read; both with the remedy. It may be left from a coordinator
// that was killed, or copied with its folder: see CoordinatorOf.
absl::StatusOr<v1::Endpoint> ReadEndpointFile(const std::filesystem::path& state_dir);

struct FolderCoordinator {
  enum State {
    kNone,
    kStarting,  // It has the folder's lock, and has not written its addresses yet.
    kRunning,
    kPerhaps,  // The file names another machine, whose locks may not be seen here, or the lock cannot be read.
  };
  State state = kNone;
  v1::Endpoint endpoint{};  // Where it runs, or perhaps does.
};
// Never that of another folder, of which this one is a copy. DataLoss: a coordinator runs, and its endpoint file cannot be read.
absl::StatusOr<FolderCoordinator> CoordinatorOf(const std::filesystem::path& state_dir);

// <state_dir>/token: the token to call the coordinator of `inlier up` with.
std::filesystem::path LocalTokenFile(const std::filesystem::path& state_dir);

// True if only this user, or root, can have written the endpoint file and the token file: folder and endpoint
// file are theirs, and no others may write them. A token of this user must not be sent to the address in
// another one.
bool EndpointFileIsTrusted(const std::filesystem::path& state_dir);

// OK when there is none. REQUIRES: this process has the folder's lock.
absl::Status RemoveEndpointFile(const std::filesystem::path& state_dir);

}  // namespace inlier

#endif  // INLIER_RPC_ENDPOINT_FILE_H_
