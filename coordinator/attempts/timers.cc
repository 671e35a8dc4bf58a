#include "coordinator/attempts/timers.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/scheduling/job_ends.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

// Attempts of workers that have been silent for the lease's term.
void ExpireLeases(Context& context) {
  State& state = context.state;
  for (const Lease& lease : state.leases.Expire(context.now.at)) {
    const auto at = state.attempts.find(lease.token);
    if (at == state.attempts.end()) continue;  // Ended as a consequence of one before it.
    const Attempt attempt = at->second;
    Stage& stage = state.stages.at(attempt.stage);
    const WorkerEntry* worker = state.workers.Find(lease.worker);
    const std::string message =
        absl::StrCat("worker ", worker ? worker->name : lease.worker, " has been silent for ",
                     FormatDuration(state.options.lease_ttl + state.options.lease_margin));
    ++state.stats.leases_expired;
    if (worker != nullptr && EndedWithItsJob(*worker, context.now.at)) {
      Yielded(context, attempt, absl::StrCat(message, ", and its job has ended"));
      continue;
    }
    EndAttempt(context, lease.token, v1::FAILED, v1::LOST, message, "fenced: the lease ran out");
    AttemptFailed(context, stage, attempt, v1::LOST, message);
  }
}

void ExpireWorkers(Context& context) {
  State& state = context.state;
  for (WorkerEntry* worker : state.workers.Expire(context.now.at)) {
    worker->listening = false;
    RefreshOffer(state, *worker);
    ReleaseGone(state, *worker, nullptr);
    ForEachFeature(&Feature::worker_lost, context, *worker);
    const bool stopped = worker->unavailable.draining && state.leases.HeldBy(worker->incarnation).empty();
    context.Log(stopped ? "worker_stopped worker=" : "worker_lost worker=", worker->name,
                " incarnation=", worker->incarnation);
    CommitWorker(context, *worker);
  }
  const auto forgotten = state.workers.Forget(context.now.at, [&](const std::string& incarnation) {
    return !state.leases.HeldBy(incarnation).empty();
  });
  for (const std::string& incarnation : forgotten) context.out.changes.Add(WorkerForgotten{incarnation});
}

void EndStalledAttempts(Context& context) {
  State& state = context.state;
  const auto& by_progress = state.deadlines.by_progress;
  while (!by_progress.empty() && by_progress.begin()->first + state.options.stall <= context.now.at) {
    const Attempt attempt = state.attempts.at(by_progress.begin()->second);
    std::string message = absl::StrCat("no progress for ", FormatDuration(state.options.stall),
                                       " (stall_seconds) though its worker answers");
    v1::FailureClass failure = v1::STALLED;
    ForEachFeature(&Feature::attempt_fails, context, attempt, failure, message);
    EndAttempt(context, attempt.token, v1::FAILED, failure, message, "stalled");
    AttemptFailed(context, state.stages.at(attempt.stage), attempt, failure, message);
  }
}

void StartRetries(Context& context) {
  State& state = context.state;
  const auto& retries = state.deadlines.retries;
  while (!retries.empty() && retries.begin()->first <= context.now.at) {
    Stage& stage = state.stages.at(retries.begin()->second);
    ForgetRetry(state, stage);
    RefreshReadiness(context, stage);
  }
}

void EndOverdueYields(Context& context) {
  State& state = context.state;
  while (!state.deadlines.yields.empty() && state.deadlines.yields.begin()->first <= context.now.at) {
    const Attempt& attempt = state.attempts.at(state.deadlines.yields.begin()->second);
    Yielded(context, attempt, absl::StrCat(attempt.yield.why, "; it did not stop in time"));
  }
}

void AwaitProgress(Context& context, Attempt& attempt) {
  context.state.deadlines.by_progress.emplace(attempt.times.progressed, attempt.token);
}

std::optional<Timestamp> StallDue(const State& state) {
  const std::optional<Timestamp> oldest = FirstOf(state.deadlines.by_progress);
  return oldest ? std::optional(*oldest + state.options.stall) : std::nullopt;
}

void ForgetProgress(Context& context, const Attempt& attempt, const AttemptEnd&) {
  context.state.deadlines.by_progress.erase({attempt.times.progressed, attempt.token});
}

// Gives an attempt that is asked to stop a new term.
void AwaitStop(Context& context, Attempt& attempt) {
  if (attempt.yield.why.empty()) return;
  attempt.yield.until = context.now.at + kYieldTerm;
  context.state.deadlines.yields.emplace(attempt.yield.until, attempt.token);
}

void ForgetYield(Context& context, const Attempt& attempt, const AttemptEnd&) {
  context.state.deadlines.yields.erase({attempt.yield.until, attempt.token});
}

}  // namespace

Feature LeaseEnds() {
  return {.due = [](const State& state) { return state.leases.NextDeadline(); }, .act = ExpireLeases};
}

Feature SilentWorkers() {
  return {.due = [](const State& state) { return state.workers.NextDeadline(); }, .act = ExpireWorkers};
}

Feature Stalls() {
  return {.due = StallDue,
          .act = EndStalledAttempts,
          .attempt_began = AwaitProgress,
          .attempt_ended = ForgetProgress};
}

Feature Yields() {
  return {.due = [](const State& state) { return FirstOf(state.deadlines.yields); },
          .act = EndOverdueYields,
          .attempt_began = AwaitStop,
          .attempt_ended = ForgetYield};
}

Feature Retries() {
  return {.due = [](const State& state) { return FirstOf(state.deadlines.retries); }, .act = StartRetries};
}

void RenewAllTerms(Context& context) {
  State& state = context.state;
  for (const auto& [incarnation, known] : state.workers.all()) {
    state.leases.Renew(incarnation, context.now.at);
    if (known.connected)
      state.workers.Seen(*state.workers.Find(incarnation), context.now.at, known.seen.wall);
  }
  for (auto& [token, attempt] : state.attempts) {
    NoteProgress(context, attempt);
    state.deadlines.yields.erase({attempt.yield.until, token});
    AwaitStop(context, attempt);
  }
}

}  // namespace inlier
