// inlier status: the latest and the unfinished sweeps, or one sweep with its trials.
#include "base/status.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/sweeps/sweep_follower.h"
#include "cli/sweeps/sweep_text.h"
#include "cli/terminal/attempt_rows.h"
#include "cli/terminal/time_left.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::uint32_t kSweepsShown = 50;
constexpr std::size_t kTimesLeft = 8;  // Active sweeps whose time left is shown.

// The present state of an active sweep, as a watcher gets it; nothing where it does not come within a second.
std::optional<v1::SweepUpdate> UpdateOf(Session& session, const v1::SweepStatus& sweep) {
  constexpr Duration kWait = std::chrono::seconds(1);
  if (sweep.state() != v1::ACTIVE || session.shows_stored()) return std::nullopt;
  SweepFollower follower(session, sweep.sweep_id(), std::nullopt, kWait);
  const auto update = follower.Next(kWait);
  return update.ok() ? *update : std::nullopt;
}

// ", about 12 min left" of a sweep that is not paused.
std::string LeftText(const std::optional<v1::SweepUpdate>& update) {
  if (!update || !update->has_seconds_left() || update->status().paused()) return "";
  TimeLeft left;
  const Timestamp now = MonotonicNow();
  left.Observe(update->seconds_left(), now);
  return absl::StrCat(", ", left.Text(now));
}

// The work of the running attempt of a trial: "train 82/400, loss 5.298, max_inf_norm 12.35".
std::string RunningText(const v1::RunningAttempt& attempt) {
  std::string text = WorkText(attempt);
  if (attempt.progress().has_loss())
    absl::StrAppend(&text, absl::StrFormat(", loss %.4g", attempt.progress().loss()));
  const std::string latest = LatestText(attempt);
  return latest.empty() ? text : absl::StrCat(text, ", ", latest);
}

// Failed trials by their reason, the most frequent first.
void ShowFailures(const v1::ListTrialsResponse& trials) {
  constexpr std::size_t kTrialsNamed = 4;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const v1::TrialStatus& trial : trials.trials()) {
    auto same =
        std::ranges::find_if(reasons, [&trial](const auto& entry) { return entry.first == trial.message(); });
    if (same == reasons.end()) same = reasons.insert(same, {trial.message(), {}});
    same->second.push_back(trial.trial_id());
  }
  std::ranges::stable_sort(reasons,
                           [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  TextTable table({"failed", "trials", "reason"});
  for (const auto& [reason, ids] : reasons) {
    const std::vector<std::string> named(
        ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(kTrialsNamed, ids.size())));
    std::string text = absl::StrJoin(named, ", ");
    if (ids.size() > named.size()) absl::StrAppend(&text, " and ", ids.size() - named.size(), " more");
    table.AddRow({absl::StrCat(ids.size()), text, absl::StrReplaceAll(reason, {{"\n", " "}})});
  }
  Print(table.empty() ? std::string("No trial has failed.\n") : table.ToString(FittingWidth()));
}

// Hours that its attempts took, and its limits.
std::string UsageText(const v1::SweepStatus& sweep) {
  const v1::LimitsSpec& limits = sweep.spec().limits();
  std::string text = absl::StrFormat("\n  %.4g hours of attempts", sweep.attempt_hours());
  if (sweep.gpu_hours() > 0 || limits.has_gpu_hours()) {
    absl::StrAppend(&text, absl::StrFormat(", %.4g", sweep.gpu_hours()),
                    limits.has_gpu_hours() ? absl::StrFormat(" of %.4g", limits.gpu_hours()) : "",
                    " hours of GPUs");
  }
  if (limits.has_sweep_hours()) {
    const auto ms = static_cast<std::int64_t>(limits.sweep_hours() * 3'600'000);
    absl::StrAppend(&text, "; stopped at ", FormatLocal({sweep.submitted_unix_ms() + ms}), " at the latest");
  }
  return text;
}

// The newest sweeps and earlier unfinished ones; or all.
absl::Status ShowSweeps(Session& session, bool all) {
  v1::ListSweepsRequest request;
  request.set_all(all);
  if (!all) request.set_page_size(kSweepsShown);
  ASSIGN_OR_RETURN(v1::ListSweepsResponse response, session.Call(&SweepStub::ListSweeps, request));
  request.set_page_token(response.next_page_token());
  request.clear_page_size();
  request.set_active(!all);
  if (all) response.clear_next_page_token();
  while (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(const v1::ListSweepsResponse page, session.Call(&SweepStub::ListSweeps, request));
    response.mutable_sweeps()->MergeFrom(page.sweeps());
    request.set_page_token(page.next_page_token());
  }
  if (session.json) {
    PrintExact(ToJson(response));
    return absl::OkStatus();
  }
  const bool owned =
      std::ranges::any_of(response.sweeps(), [](const v1::SweepStatus& sweep) { return sweep.has_owner(); });
  std::vector<std::string> headings = {"sweep",   "name",      "state", "trials",
                                       "trained", "evaluated", "took",  "submitted"};
  if (owned) headings.push_back("owner");
  TextTable table(std::move(headings));
  std::size_t followed = 0;  // Active ones so far.
  for (const v1::SweepStatus& sweep : response.sweeps()) {
    std::vector<std::string> cells = {
        sweep.sweep_id(),
        sweep.name(),
        SweepWord(sweep),
        absl::StrReplaceAll(DescribeTrials(sweep.trials()), {{" trials", ""}}),
        absl::StrCat(sweep.train_stages().ended(), "/", sweep.train_stages().total()),
        absl::StrCat(sweep.evaluate_stages().ended(), "/", sweep.evaluate_stages().total()),
        absl::StrCat(RunTimeText(sweep, WallNow()),
                     followed < kTimesLeft ? LeftText(UpdateOf(session, sweep)) : ""),
        FormatLocal({sweep.submitted_unix_ms()}).substr(0, 16)};
    if (sweep.state() == v1::ACTIVE) ++followed;
    if (owned) cells.push_back(sweep.owner());
    table.AddRow(std::move(cells));
  }
  if (table.empty() && session.people()) {
    Print("No sweeps yet. Submit one: inlier submit FILE.yaml\n");
    return absl::OkStatus();
  }
  Print(table.ToString(FittingWidth()));
  if (response.has_next_page_token() && session.people())
    Print("Older, finished sweeps: inlier status --all\n");
  return absl::OkStatus();
}

// The head of the view of one sweep.
std::string HeadText(const v1::SweepStatus& sweep, const std::optional<v1::SweepUpdate>& update) {
  std::string head = absl::StrCat(sweep.sweep_id(), "  ", Shown(sweep.name(), Layout::kCell), "  ",
                                  SweepWord(sweep), ", ", DescribeTrials(sweep.trials()));
  if (sweep.withdrawn() > 0) absl::StrAppend(&head, ", ", sweep.withdrawn(), " withdrawn");
  if (sweep.has_owner()) absl::StrAppend(&head, "; owner ", Shown(sweep.owner(), Layout::kCell));
  if (sweep.archived()) absl::StrAppend(&head, "; archived");
  for (const std::string& tag : sweep.tags()) absl::StrAppend(&head, " +", Shown(tag, Layout::kCell));
  absl::StrAppend(&head, "\n  ", DescribeStages(sweep), "\n  submitted ",
                  FormatLocal({sweep.submitted_unix_ms()}), ", ",
                  sweep.has_ended_unix_ms() ? "took " : "runs for ", RunTimeText(sweep, WallNow()),
                  LeftText(update), UsageText(sweep));
  for (const std::string& warning : sweep.warnings())
    absl::StrAppend(&head, "\n  ", Shown(warning, Layout::kCell));
  if (!sweep.note().empty()) absl::StrAppend(&head, "\n", Shown(sweep.note(), Layout::kLines));
  return head + "\n";
}

absl::Status ShowSweep(Session& session, const std::string& name, bool failed_only) {
  ASSIGN_OR_RETURN(const v1::SweepStatus sweep, session.GetSweep(name));
  v1::ListTrialsRequest list;
  list.set_sweep(sweep.sweep_id());
  if (failed_only) list.set_state(v1::FAILED);
  v1::ListTrialsResponse all;
  do {
    ASSIGN_OR_RETURN(const v1::ListTrialsResponse page, session.Call(&SweepStub::ListTrials, list));
    all.mutable_trials()->MergeFrom(page.trials());
    list.set_page_token(page.next_page_token());
  } while (!list.page_token().empty());
  if (session.json) {
    PrintExact(absl::StrCat("{\"sweep\": ", ToJson(sweep), ", \"trials\": ", ToJson(all), "}\n"));
    return absl::OkStatus();
  }
  const std::optional<v1::SweepUpdate> update = UpdateOf(session, sweep);
  if (session.people()) Print(Fitted(HeadText(sweep, update)));
  if (failed_only && session.people()) {
    ShowFailures(all);
    return absl::OkStatus();
  }
  std::map<std::string, std::string> running;
  if (update) {
    for (const v1::RunningAttempt& attempt : update->running())
      running[attempt.trial_id()] = RunningText(attempt);
  }
  const std::vector<std::string> axes = AxisNames(sweep.spec());
  TextTable table({"trial", "state", "labels", "attempts", "message"});
  for (const v1::TrialStatus& trial : all.trials()) {
    table.AddRow({trial.trial_id(), v1::TrialState_Name(trial.state()), LabelsText(trial.labels(), axes),
                  absl::StrCat(trial.attempts()),
                  running.contains(trial.trial_id()) ? running[trial.trial_id()] : trial.message()});
  }
  Print(table.ToString(FittingWidth()));
  return absl::OkStatus();
}

}  // namespace

void AddStatusCommand(CLI::App& app, Session& session) {
  auto sweep = std::make_shared<std::string>();
  auto failed = std::make_shared<bool>(false);
  auto all = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("status", "List the latest and the unfinished sweeps, or one sweep and its trials");
  CLI::Option* one = command->add_option("sweep", *sweep, "Sweep id or name");
  command->add_flag("--failed", *failed, "Only failed trials, counted by their reason")->needs(one);
  command->add_flag("--all", *all, "All sweeps")->excludes(one);
  OnUse(*command, session, [&session, sweep, failed, all] {
    return sweep->empty() ? ShowSweeps(session, *all) : ShowSweep(session, *sweep, *failed);
  });
}

}  // namespace inlier
