#include "coordinator/fleet/fleet.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/deliberate_bug.h"
#include "base/log.h"
#include "base/status.h"
#include "coordinator/fleet/config_check.h"
#include "coordinator/fleet/plan.h"
#include "coordinator/fleet/reconcile.h"
#include "coordinator/scheduling/backlog.h"
#include "coordinator/scheduling/placement.h"

namespace inlier {
namespace {

constexpr char kNamePrefix[] = "inlier-";
// Above every number that a fleet comes to, and below those that the database cannot hold.
constexpr std::uint64_t kSubmissionMax = 1'000'000'000'000;
// After a single job was refused.
constexpr Backoff kRefusalBackoff{.first = std::chrono::seconds(15), .longest = std::chrono::minutes(5)};
// Ready stages of one sweep that are counted.
constexpr std::uint64_t kCountedMax = 100'000;
// A job that was asked to end and is still there is asked again after this long.
constexpr Duration kCancelAgain = std::chrono::seconds(60);

// How many attempts with this request a job of the fleet runs at once; 0: none ever.
std::uint32_t PerJob(const Fleet& fleet, const ResourceRequest& request) {
  if (request.seconds > JobSeconds(fleet.config)) return 0;
  if (fleet.slots.empty()) {
    // Not known before a worker of it has come, unless the configuration says so.
    const std::uint32_t nodes = std::max(1u, fleet.config.slurm().nodes());
    return fleet.config.has_slots() ? fleet.config.slots() * nodes / request.processes : 1;
  }
  WorkerResources worker;
  worker.SetCapacity(fleet.slots, fleet.memory_mib);
  const auto is_free = [&worker](std::uint32_t slot) { return !worker.SlotTaken(slot); };
  for (std::uint32_t fit = 0;; ++fit) {
    std::vector<std::uint32_t> slots = worker.SlotsFor(request, is_free);
    if (slots.empty()) return fit;
    worker.Take(fit + 1, std::move(slots), request);
  }
}

// What the ready stages would take.
struct Demand {
  std::uint32_t jobs = 0;                             // That they would fill.
  std::uint32_t seconds_least = kLeastSecondsOfAJob;  // Each needs so much of its job at least.
};

// A sweep waits for the digest of its data, and no worker is there that could be asked for it.
bool ACheckHasNoWorker(const State& state) {
  const auto& checks = state.data_waits.checks;
  return std::any_of(checks.begin(), checks.end(),
                     [](const auto& check) { return check.second.worker.empty(); });
}

// The worker has an attempt, or reads data for a sweep that waits for their digest.
bool IsBusy(const State& state, const std::string& incarnation) {
  const auto& checks = state.data_waits.checks;
  return !state.leases.HeldBy(incarnation).empty() ||
         std::any_of(checks.begin(), checks.end(),
                     [&](const auto& check) { return check.second.worker == incarnation; });
}

// Also notes what waits, and what no job could run.
Demand DemandOf(State& state) {
  Fleet& fleet = state.fleet;
  double jobs = 0;
  std::uint64_t misfits = 0;
  ResourceRequest misfit;
  std::optional<std::uint32_t> seconds;
  fleet.waiting = 0;
  for (const auto& [request, count] : Backlog(state, kCountedMax)) {
    const std::uint32_t per_job = PerJob(fleet, request);
    if (per_job == 0) {
      misfits += count;
      misfit = request;
      continue;
    }
    fleet.waiting += count;
    jobs += static_cast<double>(count) / per_job;
    seconds = std::min(seconds.value_or(request.seconds), request.seconds);
  }
  if (ACheckHasNoWorker(state)) jobs = std::max(jobs, 1.0);
  fleet.misfit.clear();
  if (misfits > 0)
    fleet.misfit = absl::StrCat(misfits, misfits == 1 ? " stage waits" : " stages wait",
                                " that no job of the fleet could run: needed is ", RequestText(misfit));
  return {.jobs = static_cast<std::uint32_t>(std::min(std::ceil(jobs), 1e9)),
          .seconds_least = std::max(seconds.value_or(0), kLeastSecondsOfAJob)};
}

FleetFacts::Job FactsOf(State& state, const EngineJob& job, WorkerEntry* worker, std::uint32_t seconds_least,
                        Timestamp now) {
  FleetFacts::Job facts{.id = job.id, .queued = job.phase == EngineJob::Phase::kQueued};
  facts.leaving = state.fleet.leaving.contains(job.id);
  if (worker == nullptr) {
    const auto silent = state.fleet.silent.find(job.id);
    const bool too_long = silent != state.fleet.silent.end() && silent->second.too_long;
    const bool outdated = facts.queued && job.submission < state.fleet.config_since;
    facts.useless =
        job.stuck || outdated || (too_long && (silent->second.starts || state.fleet.row->stopped));
    return facts;
  }
  facts.queued = false;
  facts.busy = IsBusy(state, worker->incarnation);
  const bool refuses = worker->held || worker->outdated;
  facts.leaving = facts.leaving || worker->draining || (refuses && facts.busy);
  if (facts.busy) {
    worker->idle_since.reset();
    return facts;
  }
  if (!worker->idle_since) worker->idle_since = now;
  facts.idle_for = now - *worker->idle_since;
  facts.useless = refuses || worker->resources.seconds_left().value_or(seconds_least) < seconds_least;
  return facts;
}

FleetFacts Facts(Context& context, bool may_submit) {
  State& state = context.state;
  Fleet& fleet = state.fleet;
  const Timestamp now = context.now.at;
  FleetFacts facts;
  facts.minimum = fleet.config.minimum();
  facts.maximum = fleet.config.maximum();
  const std::uint32_t array_max = fleet.config.slurm().array_max();
  facts.batch_max = fleet.patience.batch_max == 0 ? array_max : std::min(array_max, fleet.patience.batch_max);
  facts.idle_after = std::chrono::seconds(fleet.config.idle_seconds());
  facts.stopped = fleet.row->stopped;
  const Demand demand = DemandOf(state);
  facts.for_backlog = demand.jobs;
  facts.may_submit = may_submit && fleet.problem.empty() && fleet.looked.has_value() &&
                     (!fleet.patience.not_before || *fleet.patience.not_before <= now);
  const std::map<std::string, std::string> workers = WorkersByJob(state);
  std::set<std::uint64_t> listed;
  for (const auto& [id, job] : fleet.jobs) {
    listed.insert(job.submission);
    const auto worker = workers.find(id);
    facts.jobs.push_back(FactsOf(state, job,
                                 worker == workers.end() ? nullptr : state.workers.Find(worker->second),
                                 demand.seconds_least, now));
  }
  std::map<std::string, std::uint32_t> unlisted;  // Workers whose jobs the engine has lost, by job or array.
  for (const auto& [job, incarnation] : workers) {
    if (!fleet.jobs.contains(job) && !state.workers.Find(incarnation)->draining) ++unlisted[ArrayOf(job)];
  }
  for (const auto& [number, submission] : fleet.submissions) {
    if (submission.calling) facts.may_submit = false;
    if (listed.contains(number)) continue;
    facts.unclear += submission.seen ? unlisted[submission.row.job] : submission.row.jobs;
  }
  if (fleet.surplus_since) facts.surplus_for = now - *fleet.surplus_since;
  return facts;
}

std::vector<std::string> GiveBack(Context& context, const std::vector<std::string>& jobs) {
  Fleet& fleet = context.state.fleet;
  std::vector<std::string> cancel;
  for (auto& [id, since] : fleet.leaving) {
    if (context.now.at - since < kCancelAgain) continue;
    since = context.now.at;
    cancel.push_back(id);
  }
  for (const std::string& id : jobs) {
    if (!fleet.leaving.emplace(id, context.now.at).second) continue;
    cancel.push_back(id);
    context.out.log.push_back(absl::StrCat("fleet_job_given_back job=", id));
  }
  fleet.stats.jobs_cancelled += jobs.size();
  return cancel;
}

// The jobs that are there are those of the coordinator whose database was copied: this one's get names of their own.
void StartApart(Context& context) {
  Fleet& fleet = context.state.fleet;
  const std::string before = std::exchange(fleet.row->id, context.state.options.new_fleet_id);
  const std::string whose = absl::StrCat("they stay with the coordinator of ", fleet.row->home);
  context.out.log.push_back(absl::StrCat(
      "fleet_of_a_copy id=", fleet.row->id, " copied_from=", LogText(fleet.row->home), " jobs_of_before=\"",
      kNamePrefix, before, "-*: ", whose, "; where no coordinator is to run there any more, cancel them\""));
  while (!fleet.submissions.empty())
    EndSubmission(context, fleet.submissions.begin()->first, FleetSubmissionRow::State::kLost,
                  absl::StrCat("the database was copied: its jobs are of the fleet ", before, ", and ", whose));
}

}  // namespace

std::string FleetJobName(const std::string& fleet_id, std::uint64_t submission) {
  return absl::StrCat(kNamePrefix, fleet_id, "-", submission);
}

std::uint64_t SubmissionOf(const std::string& fleet_id, const std::string& job_name) {
  const std::string prefix = absl::StrCat(kNamePrefix, fleet_id, "-");
  std::uint64_t number = 0;
  if (job_name.compare(0, prefix.size(), prefix) != 0 ||
      !absl::SimpleAtoi(job_name.substr(prefix.size()), &number) || number > kSubmissionMax ||
      FleetJobName(fleet_id, number) != job_name)
    return 0;
  return number;
}

absl::Status ApplyFleetRow(Fleet& fleet) {
  fleet.config.Clear();
  if (!google::protobuf::util::JsonStringToMessage(fleet.row->config_json, &fleet.config).ok())
    return absl::DataLossError(
        "the database is damaged or was edited: the configuration of the fleet cannot be read; restore "
        "inlier.db from "
        "a backup");
  if (fleet.row->minimum) fleet.config.set_minimum(*fleet.row->minimum);
  if (fleet.row->maximum) fleet.config.set_maximum(*fleet.row->maximum);
  return absl::OkStatus();
}

absl::Status RecoverFleet(Context& context, Snapshot& snapshot) {
  State& state = context.state;
  Fleet& fleet = state.fleet;
  fleet.home = snapshot.home;
  fleet.row = snapshot.fleet;
  fleet.next_submission = snapshot.next_fleet_submission;
  if (INLIER_BUG("submission_number_used_again") && fleet.next_submission > 1) --fleet.next_submission;
  for (FleetSubmissionRow& row : snapshot.fleet_submissions) {
    const std::uint64_t number = row.number;
    const bool taken = row.state == FleetSubmissionRow::State::kTaken;
    fleet.submissions[number] = {.row = std::move(row), .since = context.now.at, .seen = taken};
  }
  const bool runs = !state.options.new_fleet_id.empty();
  if (fleet.row && runs && snapshot.fleet_copied) StartApart(context);
  if (state.options.fleet) {
    FleetRow row = fleet.row.value_or(FleetRow{.id = state.options.new_fleet_id});
    // It takes the place of one that people made, or that was stopped when it was taken out.
    if (!row.from_configuration) row = FleetRow{.id = row.id};
    row.from_configuration = true;
    const std::string before = std::exchange(row.config_json, "");
    v1::FleetConfig earlier;  // Of none, and of one that cannot be read, the jobs differ.
    static_cast<void>(google::protobuf::util::JsonStringToMessage(before, &earlier));
    if (!google::protobuf::util::MessageToJsonString(*state.options.fleet, &row.config_json).ok())
      return absl::InvalidArgumentError("fleet: it cannot be stored as JSON");
    if (row.config_json != before) fleet.slots_of = fleet.next_submission;
    if (JobsDiffer(earlier, *state.options.fleet)) fleet.config_since = fleet.next_submission;
    fleet.row = std::move(row);
    context.out.changes.Add(*fleet.row);
  } else if (fleet.row && fleet.row->from_configuration && runs) {
    // It was taken out of the configuration: its jobs end.
    fleet.row->from_configuration = false;
    fleet.row->stopped = true;
    context.out.changes.Add(*fleet.row);
  }
  if (fleet.row && runs && fleet.row->home != fleet.home) {
    fleet.row->home = fleet.home;
    context.out.changes.Add(*fleet.row);
  }
  return fleet.row ? ApplyFleetRow(fleet) : absl::OkStatus();
}

void RefreshLeaving(State& state) {
  const Fleet& fleet = state.fleet;
  for (const auto& [incarnation, known] : state.workers.all()) {
    if (known.job.empty()) continue;
    const bool leaving = JobLeaves(fleet, known.job);
    if (known.leaving == leaving) continue;
    WorkerEntry& worker = *state.workers.Find(incarnation);
    worker.leaving = leaving;
    RefreshOffer(state, worker);
  }
}

FleetStep TakeLook(Context& context, const std::optional<EngineLook>& look, bool may_submit) {
  Fleet& fleet = context.state.fleet;
  FleetStep step;
  if (!fleet.row) return step;
  step.present = true;
  step.id = fleet.row->id;
  step.config = fleet.config;
  if (!look) return step;
  Reconcile(context, *look);
  RefreshLeaving(context.state);
  const FleetFacts facts = Facts(context, may_submit);
  const FleetPlan plan = PlanFleet(facts);
  fleet.wanted = plan.wanted;
  fleet.needed = facts.for_backlog;
  for (const FleetFacts::Job& job : facts.jobs) fleet.needed += job.busy && !job.leaving;
  if (!plan.surplus) fleet.surplus_since.reset();
  if (plan.surplus && !fleet.surplus_since) fleet.surplus_since = context.now.at;
  if (fleet.problem.empty()) step.cancel = GiveBack(context, plan.give_back);
  RefreshLeaving(context.state);
  if (plan.submit > 0) {
    FleetSubmission& submission = fleet.submissions[fleet.next_submission];
    submission.row = {.number = fleet.next_submission++, .jobs = plan.submit, .at = context.now.wall};
    submission.since = context.now.at;
    submission.calling = true;
    if (!INLIER_BUG("submission_not_stored")) context.out.changes.Add(submission.row);
    context.out.log.push_back(
        absl::StrCat("fleet_submits name=", FleetJobName(step.id, submission.row.number),
                     " jobs=", plan.submit, " wanted=", plan.wanted));
    step.submit = submission.row;
  }
  return step;
}

void TakeSubmitted(Context& context, const Submitted& submitted) {
  Fleet& fleet = context.state.fleet;
  const auto at = fleet.submissions.find(submitted.number);
  if (at == fleet.submissions.end()) return;
  FleetSubmission& submission = at->second;
  const bool unclear = submitted.kind == Submitted::Kind::kUnclear;
  submission.calling = unclear && INLIER_BUG("unanswered_submission_waited_for");
  submission.since = context.now.at;
  FleetPatience& patience = fleet.patience;
  const std::uint32_t array_max = fleet.config.slurm().array_max();
  std::string how;
  switch (unclear && INLIER_BUG("lost_answer_taken_as_refused") ? Submitted::Kind::kRefused
                                                                : submitted.kind) {
    case Submitted::Kind::kTaken:
      how = absl::StrCat("job=", submitted.job);
      patience.refusal.clear();
      patience.refusals = 0;
      patience.batch_max = patience.batch_max * 2 >= array_max ? 0 : patience.batch_max * 2;
      MarkTaken(context, submission, submitted.job);
      break;
    case Submitted::Kind::kRefused:
      how = absl::StrCat("refused=\"", submitted.message, "\"");
      ++fleet.stats.submissions_refused;
      patience.refusal = submitted.message;
      patience.jobs_then = static_cast<std::uint32_t>(fleet.jobs.size());
      if (submission.row.jobs > 1) {
        patience.batch_max = submission.row.jobs / 2;  // At once: fewer may be allowed.
      } else {
        ++patience.refusals;
        patience.not_before =
            context.now.at + kRefusalBackoff.Wait(static_cast<int>(patience.refusals), /*random=*/0.5);
      }
      EndSubmission(context, submitted.number, FleetSubmissionRow::State::kRefused, submitted.message);
      break;
    case Submitted::Kind::kUnclear:
      how = absl::StrCat("unclear=\"", submitted.message, "\"");
      ++fleet.stats.submissions_unclear;
      submission.row.message = submitted.message;
      context.out.changes.Add(submission.row);
      break;
  }
  context.out.log.push_back(
      absl::StrCat("fleet_submitted name=", FleetJobName(fleet.row->id, submitted.number), " ", how));
}

void TakeCancelled(Context& context, const std::vector<std::string>& jobs, const absl::Status& status) {
  if (status.ok()) return;
  for (const std::string& id : jobs) context.state.fleet.leaving.erase(id);
  context.out.log.push_back(absl::StrCat("fleet_jobs_not_given_back jobs=", jobs.size(), " reason=\"",
                                         std::string(status.message()), "\""));
  RefreshLeaving(context.state);
}

}  // namespace inlier
