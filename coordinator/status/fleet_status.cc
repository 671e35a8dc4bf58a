#include "coordinator/status/fleet_status.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "coordinator/fleet/fleet.h"
#include "coordinator/fleet/reconcile.h"

namespace inlier {
namespace {

constexpr char kEngine[] = "Slurm";
constexpr char kOutput[] = "the jobs' output (fleet.slurm.output_folder)";

std::string Jobs(std::uint64_t count) { return absl::StrCat(count, count == 1 ? " job" : " jobs"); }

std::string SubmissionName(const Fleet& fleet, std::uint64_t submission) {
  return FleetJobName(fleet.row->id, submission);
}

// "partition gpu", "Slurm".
std::string WhoRefuses(const Fleet& fleet) {
  const std::string& partition = fleet.config.slurm().partition();
  return partition.empty() ? std::string(kEngine) : absl::StrCat("partition ", partition);
}

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
  const std::string of_account = fleet.config.slurm().account().empty()
                                     ? std::string()
                                     : absl::StrCat(" of account ", fleet.config.slurm().account());
  const std::string what = IsLimit(patience.refusal) && patience.jobs_then > 0
                               ? absl::StrCat(" refuses more than ", Jobs(patience.jobs_then), of_account)
                               : absl::StrCat(" refuses a job", of_account);
  return absl::StrCat(WhoRefuses(fleet), what, ": ", patience.refusal, AskedAgain(fleet, now));
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
void AddSilent(const State& state, std::vector<std::string>& reasons) {
  const Fleet& fleet = state.fleet;
  const auto silent = std::count_if(fleet.silent.begin(), fleet.silent.end(),
                                    [&](const auto& job) { return !fleet.leaving.contains(job.first); });
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
        absl::StrCat("it is not known whether ", kEngine, " took ", SubmissionName(fleet, number), " (",
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

void AddJobs(const State& state, v1::FleetStatus& status) {
  const Fleet& fleet = state.fleet;
  const std::map<std::string, std::string> workers = WorkersByJob(state);
  for (const auto& [id, job] : fleet.jobs) {
    v1::FleetJob& shown = *status.add_jobs();
    shown.set_job(id);
    shown.set_name(SubmissionName(fleet, job.submission));
    shown.set_state(StateOf(fleet, job));
    if (!job.reason.empty()) shown.set_reason(job.reason);
    if (!job.node.empty()) shown.set_node(job.node);
    const auto found = workers.find(id);
    if (found == workers.end()) continue;
    const WorkerEntry& worker = *state.workers.Find(found->second);
    shown.set_worker(worker.name);
    shown.set_attempts(static_cast<std::uint32_t>(state.leases.HeldBy(worker.incarnation).size()));
    if (const auto left = worker.resources.seconds_left()) shown.set_seconds_left(*left);
  }
  for (const auto& [number, submission] : fleet.submissions) {
    if (submission.row.state != FleetSubmissionRow::State::kAsked) continue;
    v1::FleetJob& shown = *status.add_jobs();
    shown.set_name(SubmissionName(fleet, number));
    shown.set_state(v1::FLEET_JOB_UNCLEAR);
  }
}

}  // namespace

std::vector<std::string> FleetReasons(const State& state, Timestamp now) {
  const Fleet& fleet = state.fleet;
  std::vector<std::string> reasons;
  if (!fleet.row) return reasons;
  if (fleet.row->stopped) reasons.push_back("the fleet is stopped (inlier fleet stop --resume)");
  if (!fleet.problem.empty()) {
    reasons.push_back(absl::StrCat(kEngine, " does not answer, for ",
                                   FormatDuration(now - fleet.problem_since), ": ", fleet.problem));
  } else if (!fleet.looked) {
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
  AddSilent(state, reasons);
  return reasons;
}

v1::FleetStatus StatusOfFleet(const State& state, Timestamp now) {
  const Fleet& fleet = state.fleet;
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
  for (const std::string& reason : FleetReasons(state, now)) status.add_reasons(reason);
  AddJobs(state, status);
  status.set_jobs_submitted(fleet.stats.jobs_submitted);
  if (fleet.looked) status.set_seconds_since_look(ToSeconds(now - *fleet.looked));
  return status;
}

}  // namespace inlier
