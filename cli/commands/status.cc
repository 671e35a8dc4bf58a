// inlier status: the latest and the unfinished sweeps, or one sweep with its trials.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/watch_view.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr std::uint32_t kSweepsShown = 50;

std::string StateWord(const v1::SweepStatus& sweep) {
  switch (sweep.state()) {
    case v1::ACTIVE:
      return sweep.paused() ? "paused" : "active";
    case v1::COMPLETE:
      return DescribeEnd(sweep.trials());
    case v1::SWEEP_CANCELLED:
      return "cancelled";
    case v1::STOPPED_BY_FAILURES:
      return "stopped by failures";
    case v1::STOPPED_BY_TIME:
      return "stopped by time";
    case v1::STOPPED_BY_BUDGET:
      return "stopped by budget";
  }
  return "?";
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
    absl::StrAppend(&text, "; stopped at ", FormatUtc({sweep.submitted_unix_ms() + ms}), " at the latest");
  }
  return text;
}

// Appends the remaining pages to `response`; false after an error, which the session has reported.
bool AddPages(Session& session, v1::ListSweepsRequest request, v1::ListSweepsResponse& response) {
  do {
    auto page = session.Call(&v1::SweepService::Stub::ListSweeps, request);
    if (!page.ok()) {
      session.Finish(page.status());
      return false;
    }
    for (v1::SweepStatus& sweep : *page->mutable_sweeps()) *response.add_sweeps() = std::move(sweep);
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return true;
}

// The newest sweeps and earlier unfinished ones; or all.
void ShowSweeps(Session& session, bool all) {
  v1::ListSweepsRequest request;
  if (!all) request.set_page_size(kSweepsShown);
  auto response = session.Call(&v1::SweepService::Stub::ListSweeps, request);
  if (!response.ok()) return session.Finish(response.status());
  if (response->has_next_page_token()) {
    request.set_page_token(response->next_page_token());
    request.clear_page_size();
    request.set_active(!all);
    if (all) response->clear_next_page_token();
    if (!AddPages(session, request, *response)) return;
  }
  if (session.mode() == OutputMode::kJson) {
    PrintExact(ToJson(*response));
    return;
  }
  const bool owned = std::any_of(response->sweeps().begin(), response->sweeps().end(),
                                 [](const v1::SweepStatus& sweep) { return sweep.has_owner(); });
  std::vector<std::string> headings = {"sweep",   "name",      "state",    "trials",
                                       "trained", "evaluated", "submitted"};
  if (owned) headings.push_back("owner");
  TextTable table(std::move(headings));
  for (const v1::SweepStatus& sweep : response->sweeps()) {
    std::vector<std::string> cells = {
        sweep.sweep_id(),
        sweep.name(),
        StateWord(sweep),
        DescribeTrials(sweep.trials()),
        absl::StrCat(sweep.train_stages().ended(), "/", sweep.train_stages().total()),
        absl::StrCat(sweep.evaluate_stages().ended(), "/", sweep.evaluate_stages().total()),
        FormatUtc({sweep.submitted_unix_ms()})};
    if (owned) cells.push_back(sweep.owner());
    table.AddRow(std::move(cells));
  }
  if (table.empty() && session.people()) {
    Print("No sweeps yet. Submit one: inlier submit FILE.yaml\n");
    return;
  }
  Print(table.ToString());
  if (response->has_next_page_token() && session.people())
    Print("Older, finished sweeps: inlier status --all\n");
}

void ShowSweep(Session& session, const std::string& name, bool failed_only) {
  v1::GetSweepRequest get;
  get.set_sweep(name);
  const auto sweep = session.Call(&v1::SweepService::Stub::GetSweep, get);
  if (!sweep.ok()) return session.Finish(sweep.status());
  v1::ListTrialsRequest list;
  list.set_sweep(sweep->sweep_id());
  if (failed_only) list.set_state(v1::FAILED);
  v1::ListTrialsResponse all;
  do {
    const auto page = session.Call(&v1::SweepService::Stub::ListTrials, list);
    if (!page.ok()) return session.Finish(page.status());
    all.mutable_trials()->MergeFrom(page->trials());
    list.set_page_token(page->next_page_token());
  } while (!list.page_token().empty());
  if (session.mode() == OutputMode::kJson) {
    PrintExact(absl::StrCat("{\"sweep\": ", ToJson(*sweep), ", \"trials\": ", ToJson(all), "}\n"));
    return;
  }
  if (session.people()) {
    std::string head = absl::StrCat(sweep->sweep_id(), "  ", Shown(sweep->name(), Layout::kCell), "  ",
                                    StateWord(*sweep), ", ", DescribeTrials(sweep->trials()));
    if (sweep->withdrawn() > 0) absl::StrAppend(&head, ", ", sweep->withdrawn(), " withdrawn");
    if (sweep->has_owner()) absl::StrAppend(&head, "; owner ", Shown(sweep->owner(), Layout::kCell));
    absl::StrAppend(&head, UsageText(*sweep));
    for (const std::string& warning : sweep->warnings())
      absl::StrAppend(&head, "\n  ", Shown(warning, Layout::kCell));
    Print(head + "\n");
  }
  const std::vector<std::string> axes = AxisNames(sweep->spec());
  TextTable table({"trial", "state", "labels", "attempts", "message"});
  for (const v1::TrialStatus& trial : all.trials()) {
    table.AddRow({trial.trial_id(), v1::TrialState_Name(trial.state()), LabelsText(trial.labels(), axes),
                  absl::StrCat(trial.attempts()), trial.message()});
  }
  Print(table.ToString());
}

}  // namespace

void AddStatusCommand(CLI::App& app, Session& session) {
  auto sweep = std::make_shared<std::string>();
  auto failed = std::make_shared<bool>(false);
  auto all = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("status", "List the latest and the unfinished sweeps, or one sweep and its trials");
  command->add_option("sweep", *sweep, "Sweep id or name");
  command->add_flag("--failed", *failed, "Only failed trials");
  command->add_flag("--all", *all, "All sweeps");
  command->callback([&session, sweep, failed, all] {
    if (sweep->empty()) {
      ShowSweeps(session, *all);
    } else {
      ShowSweep(session, *sweep, *failed);
    }
  });
}

}  // namespace inlier
