#include "fleet/status.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "fleet/fleet.h"

namespace inlier {
namespace {

constexpr char kEngine[] = "Slurm";
constexpr char kOutput[] = "the jobs' output (fleet.slurm.output_folder)";

std::string Jobs(std::uint64_t count) { return absl::StrCat(count, count == 1 ? " job" : " jobs"); }

// The engine refused because of a number of jobs.
bool IsLimit(const std::string& refusal) {
  return absl::StrContains(refusal, "policy") || absl::StrContains(refusal, "limit") ||
         absl::StrContains(refusal, "Limit");
}

std::string AskedAgain(const Fleet& fleet, Timestamp now) {
  const std::optional<Timestamp>& at = fleet.patience.not_before;
  return at && *at > now ? absl::StrCat("; it is asked again in ", FormatDuration(*at - now)) : std::string();
}

std::string RefusalText(const Fleet& fleet, Timestamp now) {
  const FleetPatience& patience = fleet.patience;
  const std::string& partition = fleet.config.slurm().partition();
  const std::string& account = fleet.config.slurm().account();
  const std::string of_account = account.empty() ? std::string() : absl::StrCat(" of account ", account);
  const std::string what = IsLimit(patience.refusal) && patience.jobs_then > 0
                               ? absl::StrCat(" refuses more than ", Jobs(patience.jobs_then), of_account)
                               : absl::StrCat(" refuses a job", of_account);
  return absl::StrCat(partition.empty() ? std::string(kEngine) : absl::StrCat("partition ", partition), what,
                      ": ", patience.refusal, AskedAgain(fleet, now));
}

// "8 jobs wait in Slurm's queue: Resources (5), Priority (3)"
void AddQueued(const Fleet& fleet, std::vector<std::string>& reasons) {
  std::map<std::string, std::uint64_t> by_reason;
  std::uint64_t queued = 0;
  for (const auto& [id, job] : fleet.jobs) {
    if (job.phase != EngineJob::Phase::kQueued) continue;
    ++queued;
    ++by_reason[job.reason.empty() ? job.state : job.reason];
  }
  if (queued == 0) return;
  std::string text;
  for (const auto& [reason, count] : by_reason)
    absl::StrAppend(&text, text.empty() ? "" : ", ", reason,
                    by_reason.size() > 1 ? absl::StrCat(" (", count, ")") : "");
  reasons.push_back(
      absl::StrCat(Jobs(queued), queued == 1 ? " waits" : " wait", " in ", kEngine, "'s queue: ", text));
}

// Running jobs without a worker.
void AddSilent(const Fleet& fleet, std::vector<std::string>& reasons) {
  const auto silent = std::ranges::count_if(
      fleet.silent, [&](const auto& job) { return !fleet.leaving.contains(job.first); });
  if (silent > 0)
    reasons.push_back(absl::StrCat(Jobs(static_cast<std::uint64_t>(silent)), silent == 1 ? " runs" : " run",
                                   " without a connected worker (if that lasts, ", kOutput,
                                   " has the reason)"));
}

void AddUnclear(const Fleet& fleet, Timestamp now, std::vector<std::string>& reasons) {
  const Duration limit = std::chrono::seconds(fleet.config.unclear_seconds());
  for (const auto& [number, submission] : fleet.submissions) {
    if (submission.row.state != FleetSubmissionRow::State::kAsked || submission.calling) continue;
    reasons.push_back(
        absl::StrCat("it is not known whether ", kEngine, " took ", FleetJobName(fleet.row->id, number), " (",
                     Jobs(submission.row.jobs), ")",
                     submission.row.message.empty() ? "" : absl::StrCat(": ", submission.row.message),
                     "; unless it shows in the queue it counts as taken for another ",
                     FormatDuration(std::max<Duration>(limit - (now - submission.since), Duration::zero()))));
  }
}

v1::FleetJobState StateOf(const Fleet& fleet, const EngineJob& job) {
  if (fleet.leaving.contains(job.id)) return v1::FLEET_JOB_LEAVING;
  return job.phase == EngineJob::Phase::kQueued ? v1::FLEET_JOB_QUEUED : v1::FLEET_JOB_RUNNING;
}

void AddJobs(const Fleet& fleet, const ClusterView& view, v1::FleetStatus& status) {
  const WorkerOfJob workers = WorkersByJob(view);
  for (const auto& [id, job] : fleet.jobs) {
    v1::FleetJob& shown = *status.add_jobs();
    shown.set_job(id);
    shown.set_name(FleetJobName(fleet.row->id, job.submission));
    shown.set_state(StateOf(fleet, job));
    if (!job.reason.empty()) shown.set_reason(job.reason);
    if (!job.node.empty()) shown.set_node(job.node);
    const auto found = workers.find(id);
    if (found == workers.end()) continue;
    const ClusterView::Worker& worker = *found->second;
    shown.set_worker(worker.name);
    shown.set_attempts(worker.attempts);
    if (worker.seconds_left) shown.set_seconds_left(*worker.seconds_left);
  }
  for (const auto& [number, submission] : fleet.submissions) {
    if (submission.row.state != FleetSubmissionRow::State::kAsked) continue;
    v1::FleetJob& shown = *status.add_jobs();
    shown.set_name(FleetJobName(fleet.row->id, number));
    shown.set_state(v1::FLEET_JOB_UNCLEAR);
  }
}

}  // namespace

std::vector<std::string> FleetReasons(const Fleet& fleet, Timestamp now) {
  std::vector<std::string> reasons;
  if (!fleet.row) return reasons;
  if (fleet.row->stopped) reasons.push_back("the fleet is stopped (inlier fleet stop --resume)");
  if (!fleet.problem.empty()) {
    reasons.push_back(absl::StrCat(kEngine, " does not answer, for ",
                                   FormatDuration(now - fleet.problem_since), ": ", fleet.problem));
  } else if (!fleet.last_poll) {
    reasons.push_back(absl::StrCat(kEngine, "'s queue has not been read yet"));
  }
  if (!fleet.patience.refusal.empty()) reasons.push_back(RefusalText(fleet, now));
  if (fleet.patience.early_ends >= 3)
    reasons.push_back(absl::StrCat("the last ", Jobs(fleet.patience.early_ends),
                                   " ended before their workers connected (", fleet.patience.early_end, "); ",
                                   kOutput, " has the reason", AskedAgain(fleet, now)));
  AddUnclear(fleet, now, reasons);
  if (!fleet.misfit.empty()) reasons.push_back(fleet.misfit);
  if (!fleet.row->stopped && fleet.needed > fleet.config.maximum())
    reasons.push_back(absl::StrCat("the fleet may have ", Jobs(fleet.config.maximum()),
                                   ", and there is work for ", fleet.needed,
                                   " (inlier fleet scale --maximum)"));
  AddQueued(fleet, reasons);
  AddSilent(fleet, reasons);
  return reasons;
}

v1::FleetStatus StatusOfFleet(const Fleet& fleet, const ClusterView& view, Timestamp now) {
  v1::FleetStatus status;
  status.set_configured(fleet.row.has_value());
  if (!fleet.row) return status;
  status.set_id(fleet.row->id);
  *status.mutable_config() = fleet.config;
  status.set_stopped(fleet.row->stopped);
  status.set_from_configuration(fleet.row->from_configuration);
  status.set_wanted(fleet.wanted);
  status.set_waiting(fleet.waiting);
  status.set_ended_early(fleet.patience.early_ends);
  for (const std::string& reason : FleetReasons(fleet, now)) status.add_reasons(reason);
  AddJobs(fleet, view, status);
  status.set_jobs_submitted(fleet.stats.jobs_submitted);
  if (fleet.last_poll) status.set_seconds_since_look(ToSeconds(now - *fleet.last_poll));
  return status;
}

std::vector<MetricSpec> FleetMetricTable() {
  const auto gauge = [](const char* name, const char* help, std::vector<std::string> labels = {},
                        std::vector<std::vector<std::string>> known = {}) {
    return MetricSpec{name, MetricKind::kGauge, help, std::move(labels), {}, std::move(known)};
  };
  const auto counter = [](const char* name, const char* help) {
    return MetricSpec{name, MetricKind::kCounter, help, {}, {}, {}};
  };
  return {
      gauge("inlier_fleet_jobs", "Jobs of the fleet, by state: UNCLEAR ones may be there.", {"state"},
            {{"QUEUED"}, {"RUNNING"}, {"LEAVING"}, {"UNCLEAR"}}),
      gauge("inlier_fleet_jobs_wanted", "Jobs that there is work for, within minimum and maximum."),
      gauge("inlier_fleet_stages_waiting", "Ready stages that no slot takes now and that a job could run."),
      gauge("inlier_fleet_engine_available", "1 while the engine's queue can be read."),
      counter("inlier_fleet_jobs_submitted_total", "Jobs that the engine took."),
      counter("inlier_fleet_jobs_given_back_total", "Jobs that were asked to end because there was no work."),
      counter("inlier_fleet_submissions_refused_total", "Submissions that the engine refused."),
      counter("inlier_fleet_submissions_unclear_total",
              "Submissions of which it was not known at once whether the engine took them."),
      counter("inlier_fleet_submissions_lost_total", "Submissions that never showed in the engine's queue."),
      counter("inlier_fleet_looks_failed_total", "Times that the engine's queue could not be read."),
  };
}

std::vector<std::pair<std::string, GaugeSample>> FleetGauges(const Fleet& fleet) {
  double queued = 0, running = 0, leaving = 0, unclear = 0;
  for (const auto& [id, job] : fleet.jobs)
    ++(fleet.leaving.contains(id) ? leaving : job.phase == EngineJob::Phase::kQueued ? queued : running);
  for (const auto& [number, submission] : fleet.submissions) {
    if (submission.row.state == FleetSubmissionRow::State::kAsked) unclear += submission.row.jobs;
  }
  return {{"inlier_fleet_jobs", {{"QUEUED"}, queued}},
          {"inlier_fleet_jobs", {{"RUNNING"}, running}},
          {"inlier_fleet_jobs", {{"LEAVING"}, leaving}},
          {"inlier_fleet_jobs", {{"UNCLEAR"}, unclear}},
          {"inlier_fleet_jobs_wanted", {{}, static_cast<double>(fleet.wanted)}},
          {"inlier_fleet_stages_waiting", {{}, static_cast<double>(fleet.waiting)}},
          {"inlier_fleet_engine_available", {{}, fleet.last_poll && fleet.problem.empty() ? 1.0 : 0.0}}};
}

std::vector<std::pair<std::string, std::uint64_t>> FleetCounters(const Fleet& fleet) {
  const FleetStats& stats = fleet.stats;
  return {{"inlier_fleet_jobs_submitted_total", stats.jobs_submitted},
          {"inlier_fleet_jobs_given_back_total", stats.jobs_cancelled},
          {"inlier_fleet_submissions_refused_total", stats.submissions_refused},
          {"inlier_fleet_submissions_unclear_total", stats.submissions_unclear},
          {"inlier_fleet_submissions_lost_total", stats.submissions_lost},
          {"inlier_fleet_looks_failed_total", stats.engine_failures}};
}

}  // namespace inlier
