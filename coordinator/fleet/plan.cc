#include "coordinator/fleet/plan.h"

#include <algorithm>

#include "base/deliberate_bug.h"

namespace inlier {
namespace {

// The jobs that may be given back, in the order in which they are.
std::vector<const FleetFacts::Job*> Spare(const FleetFacts& facts) {
  std::vector<const FleetFacts::Job*> queued, idle;
  const bool at_once = facts.stopped;
  for (const FleetFacts::Job& job : facts.jobs) {
    if (job.leaving || INLIER_BUG("idle_job_kept")) continue;
    if (job.queued || (job.busy && INLIER_BUG("busy_job_given_back"))) {
      if (at_once || facts.surplus_for >= facts.idle_after) queued.push_back(&job);
    } else if (job.idle_for && (at_once || *job.idle_for >= facts.idle_after)) {
      idle.push_back(&job);
    }
  }
  std::reverse(queued.begin(), queued.end());  // The latest first: the others are further on in the queue.
  std::stable_sort(idle.begin(), idle.end(), [](const FleetFacts::Job* a, const FleetFacts::Job* b) {
    return *a->idle_for > *b->idle_for;
  });
  queued.insert(queued.end(), idle.begin(), idle.end());
  return queued;
}

}  // namespace

FleetPlan PlanFleet(const FleetFacts& facts) {
  FleetPlan plan;
  const auto count = [&](auto matches) {
    return static_cast<std::uint32_t>(std::count_if(facts.jobs.begin(), facts.jobs.end(), matches));
  };
  for (const FleetFacts::Job& job : facts.jobs) {
    if (job.useless && !job.leaving) plan.give_back.push_back(job.id);
  }
  const std::uint32_t unclear = INLIER_BUG("unclear_jobs_not_counted") ? 0 : facts.unclear;
  const std::uint32_t busy = count([](const FleetFacts::Job& job) { return job.busy && !job.leaving; });
  const std::uint32_t active =
      unclear + count([](const FleetFacts::Job& job) { return !job.leaving && !job.useless; });
  const std::uint32_t all = unclear + static_cast<std::uint32_t>(facts.jobs.size());
  if (!facts.stopped || INLIER_BUG("stopped_fleet_submits"))
    plan.wanted = std::clamp(busy + facts.for_backlog, std::min(facts.minimum, facts.maximum), facts.maximum);
  plan.surplus = active > plan.wanted;
  if (active < plan.wanted && facts.may_submit) {
    const std::uint32_t room = facts.maximum - std::min(facts.maximum, all);
    plan.submit = std::min({plan.wanted - active, room, std::max(facts.batch_max, 1u)});
  }
  std::uint32_t too_many = plan.surplus ? active - plan.wanted : 0;
  for (const FleetFacts::Job* job : Spare(facts)) {
    if (too_many == 0) break;
    if (job->useless) continue;  // It is given back already.
    plan.give_back.push_back(job->id);
    --too_many;
  }
  return plan;
}

}  // namespace inlier
