// <state_dir>/endpoint.json: the addresses of a running coordinator. Written when it listens, removed when it
// stops.
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

// NotFound when there is no file; DataLoss when it cannot be read; both with the remedy. Its process may
// have died: see EndpointIsAlive.
absl::StatusOr<v1::Endpoint> ReadEndpointFile(const std::filesystem::path& state_dir);

// True if a process with the endpoint's pid exists on this machine.
bool EndpointIsAlive(const v1::Endpoint& endpoint);

// <state_dir>/token: the token to call the coordinator of `inlier up` with.
std::filesystem::path LocalTokenFile(const std::filesystem::path& state_dir);

// True if only this user, or root, can have written the endpoint file and the token file: folder and endpoint
// file are theirs, and no others may write them. A token of this user must not be sent to the address in
// another one.
bool EndpointFileIsTrusted(const std::filesystem::path& state_dir);

// Removes the file if it is the one of process `pid`; OK when there is none.
absl::Status RemoveEndpointFile(const std::filesystem::path& state_dir, std::int64_t pid);

}  // namespace inlier

#endif  // INLIER_RPC_ENDPOINT_FILE_H_
