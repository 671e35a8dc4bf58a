// The hooks of the configuration: what must hold before one is used. Free functions, thread-safe.
#ifndef INLIER_COORDINATOR_NOTIFICATIONS_HOOK_CHECK_H_
#define INLIER_COORDINATOR_NOTIFICATIONS_HOOK_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

struct HookUrl {
  bool tls = false;
  std::string host;  // Name or address, without brackets.
  std::uint16_t port = 0;
  std::string target;       // "/path?query".
  std::string host_header;  // As the URL has it.
};

// http:// or https://, a host, no password. InvalidArgument without the text of the URL, which may hold a secret.
absl::StatusOr<HookUrl> ParseHookUrl(const std::string& url);

// The first line of the file, which must be private (rpc/private_file.h) unless `insecure`; empty for no file.
absl::StatusOr<std::string> ReadSecret(const std::string& file, bool insecure);

// Every hook: exactly one of command and url, files that can be read, no two alike. InvalidArgument with the field.
absl::Status CheckHooks(const v1::CoordinatorConfig& config);

// The configuration for the log: without the paths of URLs.
v1::CoordinatorConfig WithoutSecrets(v1::CoordinatorConfig config);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_NOTIFICATIONS_HOOK_CHECK_H_
