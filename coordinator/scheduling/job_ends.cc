#include "coordinator/scheduling/job_ends.h"

#include <algorithm>
#include <optional>

#include "coordinator/scheduling/readiness.h"

namespace inlier {
namespace {

// The first step above kLeastSecondsOfAJob.
constexpr std::uint32_t kFirstStep = 32;
constexpr double kMore = 1.5;

// Parts of the longest job: what a new job surely has left; what is nearly all of it.
constexpr double kNewJob = 0.9, kNearlyAll = 0.8;

std::uint32_t StepOf(double seconds) {
  if (seconds <= kLeastSecondsOfAJob) return 0;
  std::uint32_t step = kFirstStep;
  while (step < seconds && step < UINT32_MAX / 2) step *= 2;
  return step;
}

std::uint32_t InANewJob(const ClusterJobs& limits, std::uint32_t seconds) {
  return std::min(seconds, static_cast<std::uint32_t>(kNewJob * limits.longest));
}

template <typename Key>
std::uint32_t SecondsOf(const std::map<Key, std::uint32_t>& values, Key key) {
  const auto at = values.find(key);
  return at == values.end() ? 0 : at->second;
}

void AttemptEndedWithItsJob(Context& context, const Attempt& attempt, const AttemptEnd& end) {
  ClusterJobs& limits = context.state.jobs;
  if (IsResult(end.outcome)) limits.stage_seconds.erase(attempt.stage);
  const bool with_its_job =
      end.failure == v1::LOST || (end.failure == v1::PREEMPTED && attempt.yield.why.empty());
  const WorkerEntry* worker = context.state.workers.Find(attempt.worker);
  if (!with_its_job || worker == nullptr || !worker->resources.seconds_left() || attempt.recovered ||
      attempt.times.saved > attempt.times.started)
    return;
  const double had = ToSeconds(context.now.at - attempt.times.started);
  std::uint32_t seconds = StepOf(had * kMore);
  if (had < kNearlyAll * limits.longest) seconds = InANewJob(limits, seconds);
  if (seconds == 0) return;
  std::uint32_t& least = limits.stage_seconds[attempt.stage];
  least = std::max(least, seconds);
}

}  // namespace

std::uint32_t SecondsNeeded(const State& state, SweepId sweep, const Stage& stage) {
  const ClusterJobs& limits = state.jobs;
  if (limits.longest == 0) return 0;
  return std::max(
      SecondsOf(stage.kind == v1::TRAIN_STAGE ? limits.train_seconds : limits.evaluate_seconds, sweep),
      SecondsOf(limits.stage_seconds, stage.id));
}

void NoteTimeNeeded(Context& context, const Stage& stage, Duration took) {
  ClusterJobs& limits = context.state.jobs;
  if (limits.longest == 0) return;
  auto& known = stage.kind == v1::TRAIN_STAGE ? limits.train_seconds : limits.evaluate_seconds;
  const std::uint32_t seconds = InANewJob(limits, StepOf(ToSeconds(took) * kMore));
  for (const Dependent& dependent : stage.Dependents()) {
    // The longest: a later, shorter one had its data in a cache.
    if (seconds <= SecondsOf(known, dependent.sweep)) continue;
    known[dependent.sweep] = seconds;
    ReshapeStages(context, context.state.sweeps.at(dependent.sweep));
  }
}

bool EndedWithItsJob(const WorkerEntry& worker, Timestamp now) {
  const std::optional<std::uint32_t> left = worker.resources.seconds_left();
  return !worker.job.empty() &&
         (worker.unavailable.draining || (left && worker.seen.at + std::chrono::seconds(*left) <= now));
}

Feature JobEnds() { return {.attempt_ended = AttemptEndedWithItsJob}; }

}  // namespace inlier
