// <state_dir>/endpoint.json: the addresses of a running coordinator. Written when it listens, removed when it
// stops, or at the next start after it was killed. The folder's lock decides whose folder it is (file_lock.h).
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

// NotFound when there is no file; DataLoss when it cannot be read; both with the remedy. It may be left by a
// coordinator that was killed, or copied with its folder: see CoordinatorOf.
absl::StatusOr<v1::Endpoint> ReadEndpointFile(const std::filesystem::path& state_dir);

struct FolderCoordinator {
  enum State {
    kNone,
    kStarting,  // It has the folder's lock, and has not written its addresses yet.
    kRunning,
    kPerhaps,  // The file names another machine, whose locks may be invisible here, or the lock cannot be read.
  };
  State state = kNone;
  v1::Endpoint endpoint{};  // Where it runs, or perhaps does.
};
// Never that of a folder of which this one is a copy. DataLoss: a coordinator runs with an unreadable endpoint file.
absl::StatusOr<FolderCoordinator> CoordinatorOf(const std::filesystem::path& state_dir);

// <state_dir>/token: the token to call the coordinator of `inlier up` with.
std::filesystem::path LocalTokenFile(const std::filesystem::path& state_dir);

// True if folder and endpoint file belong to this user or root and no others may write them: a token of this user
// must not be sent to an address that someone else wrote.
bool EndpointFileIsTrusted(const std::filesystem::path& state_dir);

// REQUIRES: this process has the folder's lock.
absl::Status RemoveEndpointFile(const std::filesystem::path& state_dir);

}  // namespace inlier

#endif  // INLIER_RPC_ENDPOINT_FILE_H_
