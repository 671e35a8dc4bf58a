#include "coordinator/notifications/deliveries.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/version.h"
#include "coordinator/notifications/hook_check.h"
#include "coordinator/store/hook_key.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

int CountOf(const v1::HooksConfig& hooks) {
  return hooks.on_end_size() + hooks.on_failure_size() + hooks.on_no_worker_size();
}

}  // namespace

Deliveries::Deliveries(const v1::CoordinatorConfig& config, const std::filesystem::path& database,
                       DeliveryPorts ports)
    : ports_(std::move(ports)), reader_(database, std::max(1, CountOf(config.hooks()))) {
  for (const auto& [event, hook] : HooksOf(config.hooks()))
    receivers_.push_back(std::make_unique<Receiver>(event, hook, config.insecure(), reader_, ports_));
}

Deliveries::~Deliveries() { Stop(); }

void Deliveries::Start() {
  for (const auto& receiver : receivers_) receiver->Start();
}

void Deliveries::Poke() {
  for (const auto& receiver : receivers_) receiver->Poke();
}

void Deliveries::Stop() {
  for (const auto& receiver : receivers_) receiver->RequestStop();
  for (const auto& receiver : receivers_) receiver->Join();
}

absl::Status TestHooks(const v1::CoordinatorConfig& config) {
  int failed = 0, all = 0;
  for (const auto& [event, hook] : HooksOf(config.hooks())) {
    Notification notification{.number = 0, .at = WallNow(), .event = "test"};
    notification.body = nlohmann::ordered_json{{"id", NotificationId(notification.number, notification.at)},
                                               {"event", notification.event},
                                               {"time", FormatUtc(notification.at)},
                                               {"coordinator", {{"version", Version()}}},
                                               {"text", absl::StrCat("a test of the hook on_", event)}}
                            .dump();
    const std::string key = HookKey(event, hook);
    const TryOutcome outcome = TryHook(hook, key, config.insecure(), notification, [] { return false; });
    const bool taken = outcome.kind == TryOutcome::Kind::kTaken;
    std::printf("on_%s: %s\n", key.c_str(), taken ? "taken" : outcome.error.c_str());
    std::fflush(stdout);
    ++all;
    if (!taken) ++failed;
  }
  if (all == 0)
    return absl::InvalidArgumentError(
        "hooks: the configuration has none; docs/guides/notifications.md has examples");
  if (failed > 0)
    return absl::UnavailableError(absl::StrCat(failed, " of ", all, " hooks did not take the test"));
  return absl::OkStatus();
}

}  // namespace inlier
