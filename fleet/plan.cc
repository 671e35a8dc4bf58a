#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "coordinator/state/resources.h"
#include "fleet/config_check.h"
#include "fleet/fleet.h"

namespace inlier {
namespace {

// How many attempts with this request a job of the fleet runs at once; 0: none ever.
std::uint32_t PerJob(const Fleet& fleet, const ResourceRequest& request) {
  if (request.seconds > JobSeconds(fleet.config)) return 0;
  if (fleet.slots.empty()) {
    // Not known before a worker of it has come, unless the configuration sets it.
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

struct Demand {
  std::uint32_t jobs = 0;                             // That they would fill.
  std::uint32_t seconds_least = kLeastSecondsOfAJob;  // Each needs so much of its job at least.
};

// Also notes what waits, and what no job could run.
Demand DemandOf(FleetContext& context) {
  Fleet& fleet = context.fleet;
  double jobs = 0;
  std::uint64_t misfits = 0;
  ResourceRequest misfit;
  std::optional<std::uint32_t> seconds;
  fleet.waiting = 0;
  for (const auto& [request, count] : context.view.backlog) {
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
  if (context.view.data_wait) jobs = std::max(jobs, 1.0);
  fleet.misfit.clear();
  if (misfits > 0)
    fleet.misfit = absl::StrCat(misfits, misfits == 1 ? " stage waits" : " stages wait",
                                " that no job of the fleet could run: needed is ", RequestText(misfit));
  return {.jobs = static_cast<std::uint32_t>(std::min(std::ceil(jobs), 1e9)),
          .seconds_least = std::max(seconds.value_or(0), kLeastSecondsOfAJob)};
}

// A job that has not ended.
struct Standing {
  std::string id{};
  bool queued = false;   // The engine has not started it.
  bool busy = false;     // Its worker has an attempt, or reads data for a sweep that waits for their digest.
  bool leaving = false;  // It is asked to end, or its worker ends by itself or refuses work.
  // Its idle worker refuses work or has too little time for it, or none comes, or it is queued but out of date or stuck.
  bool useless = false;
  std::optional<Duration> idle_for{};  // Of its connected worker.
};

Standing StandingOf(FleetContext& context, const EngineJob& job, const ClusterView::Worker* worker,
                    std::uint32_t seconds_least, const std::map<std::string, Timestamp>& idle) {
  Fleet& fleet = context.fleet;
  Standing standing{.id = job.id, .leaving = fleet.leaving.contains(job.id)};
  if (worker == nullptr) {
    standing.queued = job.phase == EngineJob::Phase::kQueued;
    const auto silent = fleet.silent.find(job.id);
    const bool too_long = silent != fleet.silent.end() && silent->second.too_long;
    const bool outdated = standing.queued && job.submission < fleet.config_since;
    standing.useless = job.stuck || outdated || (too_long && (silent->second.starts || fleet.row->stopped));
    return standing;
  }
  standing.busy = worker->IsBusy();
  standing.leaving = standing.leaving || worker->draining || (worker->refuses && standing.busy);
  if (standing.busy) return standing;
  const auto known = idle.find(worker->incarnation);
  const Timestamp idle_since = std::max(known == idle.end() ? context.now : known->second, worker->leased);
  fleet.idle[worker->incarnation] = idle_since;
  standing.idle_for = context.now - idle_since;
  standing.useless = worker->refuses || worker->seconds_left.value_or(seconds_least) < seconds_least;
  return standing;
}

// Jobs of submissions that the engine does not list.
std::uint32_t Unclear(const Fleet& fleet, const WorkerOfJob& workers) {
  std::set<std::uint64_t> listed;
  for (const auto& [id, job] : fleet.jobs) listed.insert(job.submission);
  std::map<std::string, std::uint32_t> unlisted;  // Workers whose jobs the engine has lost, by job or array.
  for (const auto& [job, worker] : workers) {
    if (!fleet.jobs.contains(job) && !worker->draining) ++unlisted[ArrayOf(job)];
  }
  std::uint32_t unclear = 0;
  for (const auto& [number, submission] : fleet.submissions) {
    if (listed.contains(number)) continue;
    unclear += submission.seen ? unlisted[submission.row.job] : submission.row.jobs;
  }
  return INLIER_BUG("unclear_jobs_not_counted") ? 0 : unclear;
}

bool MaySubmit(const FleetContext& context) {
  const Fleet& fleet = context.fleet;
  const auto& not_before = fleet.patience.not_before;
  return context.view.can_store && fleet.problem.empty() && fleet.last_poll &&
         (!not_before || *not_before <= context.now) &&
         std::ranges::none_of(fleet.submissions,
                              [](const auto& submission) { return submission.second.calling; });
}

// The jobs that may be given back, in that order. `surplus_for`: how long there have been too many.
std::vector<const Standing*> Spare(const Fleet& fleet, const std::vector<Standing>& jobs,
                                   Duration surplus_for) {
  std::vector<const Standing*> queued, idle;
  const Duration after = std::chrono::seconds(fleet.config.idle_seconds());
  for (const Standing& job : jobs) {
    if (INLIER_BUG("idle_job_kept")) continue;
    if (job.queued) {
      if (fleet.row->stopped || surplus_for >= after) queued.push_back(&job);
    } else if (job.idle_for && (fleet.row->stopped || *job.idle_for >= after)) {
      idle.push_back(&job);
    }
  }
  std::ranges::reverse(queued);  // The latest first: the others are further on in the queue.
  std::ranges::stable_sort(idle,
                           [](const Standing* a, const Standing* b) { return *a->idle_for > *b->idle_for; });
  queued.insert(queued.end(), idle.begin(), idle.end());
  return queued;
}

}  // namespace

FleetPlan PlanFleet(FleetContext& context) {
  Fleet& fleet = context.fleet;
  const v1::FleetConfig& config = fleet.config;
  const Demand demand = DemandOf(context);
  const WorkerOfJob workers = WorkersByJob(context.view);
  const std::map<std::string, Timestamp> idle = std::exchange(fleet.idle, {});
  FleetPlan plan;
  std::vector<Standing> jobs;  // Of use.
  const std::uint32_t unclear = Unclear(fleet, workers);
  std::uint32_t busy = 0;
  for (const auto& [id, job] : fleet.jobs) {
    const auto worker = workers.find(id);
    Standing standing = StandingOf(context, job, worker == workers.end() ? nullptr : worker->second,
                                   demand.seconds_least, idle);
    if (standing.leaving) continue;
    busy += standing.busy;
    standing.useless ? plan.give_back.push_back(id) : jobs.push_back(std::move(standing));
  }
  const std::uint32_t active = unclear + static_cast<std::uint32_t>(jobs.size());
  const std::uint32_t all = unclear + static_cast<std::uint32_t>(fleet.jobs.size());
  fleet.needed = demand.jobs + busy;
  fleet.wanted =
      fleet.row->stopped && !INLIER_BUG("stopped_fleet_submits")
          ? 0
          : std::clamp(fleet.needed, std::min(config.minimum(), config.maximum()), config.maximum());
  if (active < fleet.wanted && MaySubmit(context)) {
    const std::uint32_t room = config.maximum() - std::min(config.maximum(), all);
    const std::uint32_t batch = fleet.patience.batch_max == 0 ? UINT32_MAX : fleet.patience.batch_max;
    plan.submit = std::min({fleet.wanted - active, room, batch, config.slurm().array_max()});
  }
  if (active <= fleet.wanted) {
    fleet.surplus_since.reset();
    return plan;
  }
  if (!fleet.surplus_since) fleet.surplus_since = context.now;
  const std::vector<const Standing*> spare = Spare(fleet, jobs, context.now - *fleet.surplus_since);
  for (std::size_t i = 0; i < std::min<std::size_t>(spare.size(), active - fleet.wanted); ++i)
    plan.give_back.push_back(spare[i]->id);
  return plan;
}

}  // namespace inlier
