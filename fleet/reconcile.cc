#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/deliberate_bug.h"
#include "base/time.h"
#include "fleet/fleet.h"

namespace inlier {
namespace {

// Jobs that end before their worker connects: from the third in a row on the next one waits.
constexpr std::uint32_t kEarlyEndsAtOnce = 3;
constexpr Backoff kEarlyBackoff{.first = std::chrono::seconds(30), .longest = std::chrono::minutes(30)};

std::string EndText(const EngineJob& job) {
  return job.reason.empty() ? job.state : absl::StrCat(job.state, ", ", job.reason);
}

void NoteFailedLook(FleetContext& context, const absl::Status& status) {
  Fleet& fleet = context.fleet;
  ++fleet.stats.engine_failures;
  if (fleet.problem.empty()) {
    fleet.problem_since = context.now;
    context.Log("fleet_engine_fails reason=\"", std::string(status.message()), "\"");
  }
  fleet.problem = std::string(status.message());
}

// The job has ended or is abandoned, and its worker never connected.
void NoteEarlyEnd(FleetContext& context, const std::string& job, const std::string& how) {
  FleetPatience& patience = context.fleet.patience;
  ++patience.early_ends;
  patience.early_end = absl::StrCat("job ", job, ": ", how);
  context.Log("fleet_job_ended_early job=", job, " how=\"", how, "\"");
  if (patience.early_ends < kEarlyEndsAtOnce) return;
  patience.not_before =
      context.now + kEarlyBackoff.Wait(static_cast<int>(patience.early_ends - kEarlyEndsAtOnce + 1), 0.5);
}

// A job that a user or the engine took away proves nothing about the next one.
bool EndedByItself(const EngineJob& job) {
  return job.state != "CANCELLED" && job.state != "PREEMPTED" && job.state != "REVOKED";
}

// A worker of the job was heard since then, also one that came and went between two polls.
bool HadWorker(const FleetContext& context, const std::string& job, Timestamp since = {}) {
  const auto& all = context.view.workers;
  return context.fleet.connected_once.contains(job) ||
         std::ranges::any_of(all, [&](const ClusterView::Worker& worker) {
           return worker.job == job && worker.last_seen >= since;
         });
}

// Jobs whose workers have connected; a worker of the latest submission shows what the next ones will have.
void NoteWorkers(FleetContext& context) {
  Fleet& fleet = context.fleet;
  for (const auto& [job, worker] : WorkersByJob(context.view)) {
    const auto listed = fleet.jobs.find(job);
    if (listed == fleet.jobs.end()) continue;
    if (fleet.connected_once.insert(job).second) fleet.patience.early_ends = 0;
    if (listed->second.submission < fleet.slots_of) continue;
    fleet.slots_of = listed->second.submission;
    fleet.slots = worker->slots;
    fleet.memory_mib = worker->memory_mib;
  }
}

// Running jobs without a worker: where none has come since the start, the program does not start there, or does not reach
// the coordinator. Of a job that ran at the first look it is not known whether its worker had connected.
void NoteSilence(FleetContext& context, const std::map<std::string, EngineJob>& before, bool first) {
  Fleet& fleet = context.fleet;
  const WorkerOfJob workers = WorkersByJob(context.view);
  const auto is_silent = [&](const EngineJob& job) {
    return job.phase == EngineJob::Phase::kRunning && !workers.contains(job.id);
  };
  std::erase_if(fleet.silent, [&](const auto& entry) {
    const auto job = fleet.jobs.find(entry.first);
    return job == fleet.jobs.end() || !is_silent(job->second);
  });
  const Duration limit = std::chrono::seconds(fleet.config.connect_seconds());
  for (const auto& [id, job] : fleet.jobs) {
    if (!is_silent(job)) continue;
    const auto known = before.find(id);
    const bool ran = first || (known != before.end() && known->second.phase == EngineJob::Phase::kRunning);
    FleetSilence& silence =
        fleet.silent.try_emplace(id, FleetSilence{.since = context.now, .starts = !ran}).first->second;
    silence.starts = silence.starts && !HadWorker(context, id, silence.since);
    if (silence.too_long || fleet.leaving.contains(id) || context.now - silence.since < limit) continue;
    silence.too_long = true;
    if (silence.starts)
      NoteEarlyEnd(context, id,
                   absl::StrCat("it ran for ", FormatDuration(limit),
                                " and no worker connected from it; its output has the reason "
                                "(fleet.slurm.output_folder)"));
  }
}

// A listed job whose submission is not known to be open: of a database that was restored from a backup, or of a
// submission that was abandoned too early.
FleetSubmission& Adopt(FleetContext& context, const EngineJob& job) {
  Fleet& fleet = context.fleet;
  FleetSubmission& submission = fleet.submissions[job.submission];
  submission.row = {.number = job.submission, .at = context.wall};
  submission.since = context.now;
  fleet.next_submission = std::max(fleet.next_submission, job.submission + 1);
  context.Log("fleet_job_adopted job=", job.id, " submission=", job.submission);
  return submission;
}

void TakeJob(FleetContext& context, const EngineJob& job) {
  Fleet& fleet = context.fleet;
  const bool ended = job.phase == EngineJob::Phase::kEnded;
  const auto known = fleet.submissions.find(job.submission);
  if (known == fleet.submissions.end() && ended) return;
  FleetSubmission& submission = known == fleet.submissions.end() ? Adopt(context, job) : known->second;
  if (submission.row.job.empty() && INLIER_BUG("job_without_an_answer_not_adopted")) return;
  if (submission.row.job.empty() && !submission.calling) MarkTaken(context, submission, ArrayOf(job.id));
  submission.seen = true;
  if (!ended) fleet.jobs[job.id] = job;
}

// Submissions of which nothing is left, or that never showed.
void EndSubmissions(FleetContext& context, const EngineLook& look,
                    const std::map<std::uint64_t, std::string>& ends) {
  Fleet& fleet = context.fleet;
  std::set<std::uint64_t> live;
  for (const auto& [id, job] : fleet.jobs) live.insert(job.submission);
  std::set<std::string> connected;
  for (const auto& [job, worker] : WorkersByJob(context.view)) connected.insert(ArrayOf(job));
  std::vector<std::pair<std::uint64_t, FleetSubmissionRow::State>> over;
  const Duration unclear = std::chrono::seconds(fleet.config.unclear_seconds());
  for (const auto& [number, submission] : fleet.submissions) {
    if (submission.calling || submission.since >= look.began || live.contains(number)) continue;
    if (!submission.row.job.empty() && connected.contains(submission.row.job)) continue;
    if (!submission.seen && context.now - submission.since < unclear &&
        !INLIER_BUG("submission_given_up_at_once"))
      continue;
    over.emplace_back(number,
                      submission.seen ? FleetSubmissionRow::State::kEnded : FleetSubmissionRow::State::kLost);
  }
  for (const auto& [number, state] : over) {
    const auto how = ends.find(number);
    if (state == FleetSubmissionRow::State::kLost) ++fleet.stats.submissions_lost;
    EndSubmission(context, number, state,
                  how != ends.end()                           ? how->second
                  : state == FleetSubmissionRow::State::kLost ? "it never showed in the engine's queue"
                                                              : "it is no longer in the engine's queue");
  }
}

}  // namespace

std::string ArrayOf(const std::string& job) { return job.substr(0, job.find('_')); }

WorkerOfJob WorkersByJob(const ClusterView& view) {
  WorkerOfJob workers;
  for (const ClusterView::Worker& worker : view.workers) {
    if (!worker.connected) continue;
    const auto [at, first] = workers.try_emplace(worker.job, &worker);
    if (!first && at->second->last_seen < worker.last_seen) at->second = &worker;
  }
  return workers;
}

void MarkTaken(FleetContext& context, FleetSubmission& submission, const std::string& job) {
  context.fleet.stats.jobs_submitted += submission.row.jobs;
  submission.row.state = FleetSubmissionRow::State::kTaken;
  submission.row.job = job;
  submission.row.message.clear();
  context.changes.emplace_back(submission.row);
}

void EndSubmission(FleetContext& context, std::uint64_t number, FleetSubmissionRow::State state,
                   const std::string& message) {
  Fleet& fleet = context.fleet;
  FleetSubmissionRow row = std::move(fleet.submissions.at(number).row);
  fleet.submissions.erase(number);
  row.state = state;
  row.message = message;
  row.ended_at = context.wall;
  context.Log("fleet_submission_ended number=", number, " jobs=", row.jobs,
              " job=", row.job.empty() ? "none" : row.job, " message=\"", message, "\"");
  context.changes.emplace_back(std::move(row));
}

void Reconcile(FleetContext& context, const EngineLook& look) {
  Fleet& fleet = context.fleet;
  if (!look.jobs.ok()) return NoteFailedLook(context, look.jobs.status());
  if (!fleet.problem.empty()) context.log.push_back("fleet_engine_answers");
  fleet.problem.clear();
  const bool first = !fleet.last_poll;
  fleet.last_poll = context.now;
  NoteWorkers(context);
  std::map<std::string, EngineJob> before = std::move(fleet.jobs);
  fleet.jobs.clear();
  std::set<std::string> listed;
  std::map<std::uint64_t, std::string> ends;
  for (const EngineJob& job : *look.jobs) {
    listed.insert(job.id);
    TakeJob(context, job);
    const bool ended = job.phase == EngineJob::Phase::kEnded;
    // Queued again: the next run starts without a worker.
    if (job.phase == EngineJob::Phase::kQueued) fleet.connected_once.erase(job.id);
    if (ended) ends[job.submission] = EndText(job);
    if (!ended && !job.stuck) continue;
    // At the first look it is not known which workers had connected.
    const bool fresh = fleet.exit_classified.insert(job.id).second && !first;
    const bool early = job.stuck || (EndedByItself(job) && !HadWorker(context, job.id));
    if (fresh && early && !fleet.leaving.contains(job.id)) NoteEarlyEnd(context, job.id, EndText(job));
  }
  for (const auto& [id, job] : before) {
    if (listed.contains(id) || HadWorker(context, id) || fleet.leaving.contains(id)) continue;
    NoteEarlyEnd(context, id, "it is no longer in the engine's queue");
  }
  NoteWorkers(context);
  NoteSilence(context, before, first);
  const auto gone = [&](const std::string& id) { return !listed.contains(id); };
  std::erase_if(fleet.connected_once, gone);
  std::erase_if(fleet.exit_classified, gone);
  std::erase_if(fleet.leaving, [&](const auto& entry) { return !fleet.jobs.contains(entry.first); });
  EndSubmissions(context, look, ends);
}

}  // namespace inlier
