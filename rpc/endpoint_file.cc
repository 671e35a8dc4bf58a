#include "rpc/endpoint_file.h"

#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "rpc/credentials.h"
#include "rpc/private_file.h"

namespace inlier {

std::filesystem::path EndpointFilePath(const std::filesystem::path& state_dir) {
  return state_dir / "endpoint.json";
}

absl::Status WriteEndpointFile(const std::filesystem::path& state_dir, const v1::Endpoint& endpoint) {
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto printed = google::protobuf::util::MessageToJsonString(endpoint, &json, options);
  if (!printed.ok()) return absl::InternalError(absl::StrCat("endpoint.json: ", printed.ToString()));
  return WriteFileAtomically(EndpointFilePath(state_dir), json + "\n");
}

absl::StatusOr<v1::Endpoint> ReadEndpointFile(const std::filesystem::path& state_dir) {
  const std::filesystem::path path = EndpointFilePath(state_dir);
  const absl::StatusOr<std::string> json = ReadFile(path);
  if (absl::IsNotFound(json.status())) {
    return absl::NotFoundError(absl::StrCat("no coordinator is running in ", state_dir.string(),
                                            " (there is no ", path.string(),
                                            "); start one with `inlier up` or inlier-coordinator"));
  }
  RETURN_IF_ERROR(json.status());
  v1::Endpoint endpoint;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(*json, &endpoint, options);
  if (!parsed.ok() || !endpoint.has_grpc()) {
    return absl::DataLossError(absl::StrCat(path.string(), " is not an endpoint file: ",
                                            parsed.ok() ? "it has no grpc address" : parsed.ToString(),
                                            "; remove it and start the coordinator again"));
  }
  return endpoint;
}

absl::StatusOr<FolderCoordinator> CoordinatorOf(const std::filesystem::path& state_dir) {
  const std::filesystem::path lock = StateLockPath(state_dir);
  const LockUse use = FileLock::Probe(lock);
  absl::StatusOr<v1::Endpoint> endpoint = ReadEndpointFile(state_dir);
  // The coordinator replaces one that was left behind.
  if (!endpoint.ok() && (absl::IsNotFound(endpoint.status()) || use != LockUse::kHeld))
    return FolderCoordinator{use == LockUse::kHeld ? FolderCoordinator::kStarting : FolderCoordinator::kNone,
                             {}};
  RETURN_IF_ERROR(endpoint.status());
  const bool of_copy = endpoint->has_lock_inode() && endpoint->lock_inode() != InodeOf(lock);
  FolderCoordinator found;
  if (use == LockUse::kHeld) {
    found.state = of_copy ? FolderCoordinator::kStarting : FolderCoordinator::kRunning;
  } else if (!of_copy && (use == LockUse::kUnknown || !IsLoopback(endpoint->grpc()))) {
    found.state = FolderCoordinator::kPerhaps;
  }
  if (found.state == FolderCoordinator::kRunning || found.state == FolderCoordinator::kPerhaps)
    found.endpoint = *std::move(endpoint);
  return found;
}

std::filesystem::path LocalTokenFile(const std::filesystem::path& state_dir) { return state_dir / "token"; }

bool EndpointFileIsTrusted(const std::filesystem::path& state_dir) {
  const auto is_ours = [](const std::filesystem::path& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && IsOurs(info) && (info.st_mode & S_IWOTH) == 0;
  };
  return is_ours(state_dir) && is_ours(EndpointFilePath(state_dir));
}

absl::Status RemoveEndpointFile(const std::filesystem::path& state_dir) {
  std::error_code error;
  std::filesystem::remove(EndpointFilePath(state_dir), error);
  if (!error) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("cannot remove ", EndpointFilePath(state_dir).string(), ": ", error.message()));
}

}  // namespace inlier
