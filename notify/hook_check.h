// The hooks of the configuration: their names, as rows, metrics and logs have them, and what must hold before one is used.
// Free functions, thread-safe.
#ifndef INLIER_NOTIFY_HOOK_CHECK_H_
#define INLIER_NOTIFY_HOOK_CHECK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

// The events: fields of HooksConfig without "on_".
inline constexpr char kEndEvent[] = "end";
inline constexpr char kFailureEvent[] = "failure";
inline constexpr char kNoWorkerEvent[] = "no_worker";

// "end /opt/notify", "failure https://host:8443 (3f9a2c1b)": a URL without its path, which often is a secret, and with
// the beginning of its digest. Keys of two hooks differ unless event and receiver are the same.
std::string HookKey(const std::string& event, const v1::HookConfig& hook);

// Every hook with its event, in the order of the configuration.
std::vector<std::pair<std::string, v1::HookConfig>> HooksOf(const v1::HooksConfig& hooks);

// "n-17-1700000000123": the id of a notification in its JSON. With its time, so that one that is stored after a backup was
// restored has another id than one before.
std::string NotificationId(std::uint64_t number, WallTime at);

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

#endif  // INLIER_NOTIFY_HOOK_CHECK_H_
