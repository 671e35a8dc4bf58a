#include "notify/notify_service.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/version.h"
#include "nlohmann/json.hpp"
#include "notify/hook_check.h"

namespace inlier {

NotifyService::NotifyService(const v1::CoordinatorConfig& config, std::string coordinator,
                             const std::filesystem::path& database, Committer& committer,
                             Notifier::Ports ports, ObserveTry observe)
    : config_(config),
      coordinator_(std::move(coordinator)),
      reader_(database, 1 + static_cast<int>(HooksOf(config.hooks()).size())),
      committer_(committer),
      ports_(std::move(ports)),
      observe_(std::move(observe)) {
  committer_.Submit(StartOfNotifications(config.hooks(), WallNow()), nullptr);
}

void NotifyService::Start() {
  const auto hooks = HooksOf(config_.hooks());
  for (const auto& [event, hook] : hooks) {
    threads_.emplace_back([this, event, hook](const std::stop_token& stop) {
      Receiver(event, hook, config_.insecure(), reader_, committer_, observe_).Run(stop);
    });
  }
  if (!hooks.empty()) threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
}

void NotifyService::Stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

void NotifyService::Run(const std::stop_token& stop) {
  const MustStop must_stop = GraceAfter(stop);
  Notifier::Ports ports = ports_;
  ports.store = [&](ChangeBatch batch) { return committer_.SubmitAndWait(std::move(batch), must_stop); };
  Notifier notifier(config_.hooks(), coordinator_, reader_, std::move(ports));
  committer_.SubmitAndWait({}, must_stop);  // StartOfNotifications is stored then.
  Duration wait{};
  while (SleepUntil(stop, MonotonicNow() + wait)) {
    const absl::Status made = notifier.Step(MonotonicNow(), WallNow());
    wait = made.ok() ? std::chrono::milliseconds(200) : std::chrono::seconds(10);
    if (!made.ok()) spdlog::warn("notifications_not_made reason={}", LogText(made.message()));
  }
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
