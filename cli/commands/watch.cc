// inlier watch: live progress of a sweep until it finishes.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/sweeps/sweep_text.h"
#include "cli/sweeps/sweep_watch.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/sweep_app.h"

namespace inlier {
namespace {

// After the screen: the counts and the reasons of failures, which stay in the terminal.
void PrintEnd(const SweepModel& model) {
  const v1::SweepStatus& status = model.status();
  std::string text;
  for (const std::string& failure : model.notices().Failures()) absl::StrAppend(&text, "  ", failure, "\n");
  absl::StrAppend(
      &text, Shown(status.name(), Layout::kCell), "  ", DescribeTrials(status.trials()), ", ",
      DescribeStages(status),
      status.state() == v1::COMPLETE ? absl::StrCat(", ", DescribeEnd(status.trials())) : std::string(),
      "\n");
  Print(text);
}

// On the whole screen. Absent: the user left before the end.
absl::StatusOr<std::optional<v1::SweepStatus>> WatchOnScreen(Session& session, const std::string& sweep) {
  ASSIGN_OR_RETURN(std::vector<std::string> axes, AxesOfSweep(session, sweep));
  SweepModel model(std::move(axes));
  SweepFollower follower(session, sweep, 0, WatchOptions().patience);
  // A sweep that is not there is an error on the terminal, not behind a screen.
  while (!model.known() && !follower.over() && !Interrupted()) {
    ASSIGN_OR_RETURN(const std::optional<v1::SweepUpdate> update,
                     follower.Next(std::chrono::milliseconds(200)));
    if (update) model.Take(*update, MonotonicNow());
  }
  absl::StatusOr<SweepAppEnd> end = SweepAppEnd::kOver;
  if (!follower.over()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Screen> screen, Screen::Open());
    end = RunSweepApp(session, *screen, follower, model, /*may_go_back=*/false);
  }
  if (model.known()) PrintEnd(model);
  RETURN_IF_ERROR(end.status());
  if (*end == SweepAppEnd::kOver) return model.status();
  Print(absl::StrCat(model.status().sweep_id(), " keeps running; watch it again: inlier watch ",
                     model.status().sweep_id(), "\n"));
  return std::nullopt;
}

}  // namespace

void AddWatchCommand(CLI::App& app, Session& session) {
  auto sweep = std::make_shared<std::string>();
  auto plain = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "watch", "Follow a sweep until it finishes: progress, failures, running attempts with their losses");
  command->add_option("sweep", *sweep, "Sweep id or name")->required();
  command->add_flag("--plain", *plain, "Plain lines, as when the output is no terminal");
  OnUse(*command, session, [&session, sweep, plain]() -> absl::Status {
    CatchInterrupts();
    if (!*plain && session.people() && Screen::IsUsable()) {
      ASSIGN_OR_RETURN(const std::optional<v1::SweepStatus> end, WatchOnScreen(session, *sweep));
      if (end) session.Finish(ExitCodeOfSweep(*end));
      return absl::OkStatus();
    }
    WatchOptions options;
    options.plain = *plain;
    ASSIGN_OR_RETURN(const v1::SweepStatus end, FollowSweep(session, *sweep, options));
    session.Finish(ExitCodeOfSweep(end));
    return absl::OkStatus();
  });
}

}  // namespace inlier
