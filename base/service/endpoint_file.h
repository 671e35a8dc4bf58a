// <state_dir>/endpoint.json: where a running coordinator listens. Written when it does, removed when it
// stops.
#ifndef INLIER_BASE_SERVICE_ENDPOINT_FILE_H_
#define INLIER_BASE_SERVICE_ENDPOINT_FILE_H_

#include <filesystem>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

std::filesystem::path EndpointFilePath(const std::filesystem::path& state_dir);

// Replaces the file as one.
absl::Status WriteEndpointFile(const std::filesystem::path& state_dir, const v1::Endpoint& endpoint);

// NotFound when there is no file; DataLoss when it cannot be read; both say what to do. The process it names
// may have died: see EndpointIsAlive.
absl::StatusOr<v1::Endpoint> ReadEndpointFile(const std::filesystem::path& state_dir);

// Whether a process with the endpoint's pid exists on this machine.
bool EndpointIsAlive(const v1::Endpoint& endpoint);

// Removes the file if it is the one of process `pid`; OK when there is none.
absl::Status RemoveEndpointFile(const std::filesystem::path& state_dir, std::int64_t pid);

}  // namespace inlier

#endif  // INLIER_BASE_SERVICE_ENDPOINT_FILE_H_
