#include "coordinator/store/hook_key.h"

#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace inlier {

std::string HookKey(const std::string& event, const v1::HookConfig& hook) {
  if (hook.has_command()) return absl::StrCat(event, " ", hook.command());
  const std::string& url = hook.url();
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  return absl::StrCat(event, " ", url.substr(0, url.find_first_of("/?#", host)), " (",
                      Sha256Hex(url).substr(0, 8), ")");
}

std::vector<std::pair<std::string, v1::HookConfig>> HooksOf(const v1::HooksConfig& hooks) {
  std::vector<std::pair<std::string, v1::HookConfig>> all;
  for (const v1::HookConfig& hook : hooks.on_end()) all.emplace_back(kEndEvent, hook);
  for (const v1::HookConfig& hook : hooks.on_failure()) all.emplace_back(kFailureEvent, hook);
  for (const v1::HookConfig& hook : hooks.on_no_worker()) all.emplace_back(kNoWorkerEvent, hook);
  return all;
}

std::string NotificationId(std::uint64_t number, WallTime at) {
  return absl::StrCat("n-", number, "-", at.unix_ms);
}

}  // namespace inlier
