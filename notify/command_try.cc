#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/run_program.h"
#include "notify/hook_check.h"
#include "notify/try_outcome.h"

namespace inlier {

TryOutcome RunCommand(const v1::HookConfig& hook, const Notification& notification, const MustStop& must_stop,
                      std::string& output) {
  const auto failed = [](const absl::Status& status) {
    return TryOutcome{.error = std::string(status.message())};
  };
  if (const absl::Status status = CheckProgram(hook.command()); !status.ok()) return failed(status);
  const absl::StatusOr<ProgramEnd> end =
      RunToEnd({.program = hook.command(),
                .arguments = {},
                .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                "LANG=C.UTF-8", absl::StrCat("HOME=", EnvironmentVariableOr("HOME", "/")),
                                absl::StrCat("INLIER_EVENT=", notification.event),
                                absl::StrCat("INLIER_DELIVERY=",
                                             NotificationId(notification.number, notification.at))},
                .input = notification.body,
                .limit = std::chrono::seconds(hook.timeout_seconds()),
                .join_errors = true},
               must_stop);
  if (!end.ok()) return failed(end.status());
  output = end->output;
  if (!end->status)
    return {.error = absl::StrCat("it did not end within ", hook.timeout_seconds(), " s and was killed")};
  if (end->Succeeded()) return {.kind = TryOutcome::Kind::kTaken};
  return {.kind = TryOutcome::Kind::kRefused, .error = end->HowText()};
}

}  // namespace inlier
