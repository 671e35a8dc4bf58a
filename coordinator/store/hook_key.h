// Names of receivers of notifications, as rows, metrics and logs have them.
#ifndef INLIER_COORDINATOR_STORE_HOOK_KEY_H_
#define INLIER_COORDINATOR_STORE_HOOK_KEY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_HOOK_KEY_H_
