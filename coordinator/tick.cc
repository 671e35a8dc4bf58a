#include "coordinator/tick.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/attempts/data_binding.h"
#include "coordinator/attempts/quarantine.h"
#include "coordinator/attempts/time_limits.h"
#include "coordinator/scheduling/data_check.h"
#include "coordinator/scheduling/job_ends.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/preemption.h"
#include "coordinator/scheduling/readiness.h"
#include "coordinator/state/limits.h"
#include "coordinator/state/transitions.h"
#include "coordinator/sweeps/expand.h"
#include "coordinator/sweeps/no_worker.h"
#include "coordinator/sweeps/notify.h"
#include "coordinator/sweeps/settle.h"

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
    ForgetDataChecks(state, worker->incarnation);
    if (state.data.AnyDiffers()) state.data_waits.lacking_due = Timestamp{};
    const bool stopped = worker->draining && state.leases.HeldBy(worker->incarnation).empty();
    context.out.log.push_back(absl::StrCat(stopped ? "worker_stopped worker=" : "worker_lost worker=",
                                           worker->name, " incarnation=", worker->incarnation));
    CommitWorker(context, *worker);
  }
  const auto forgotten = state.workers.Forget(context.now.at, [&](const std::string& incarnation) {
    return !state.leases.HeldBy(incarnation).empty();
  });
  for (const WorkerRegistry::Forgotten& worker : forgotten) {
    if (!worker.used) context.out.changes.Add(WorkerForgotten{worker.incarnation});
  }
}

void EndStalledAttempts(Context& context) {
  State& state = context.state;
  const auto& by_progress = state.deadlines.by_progress;
  while (!by_progress.empty() && by_progress.begin()->first + state.options.stall <= context.now.at) {
    const Attempt attempt = state.attempts.at(by_progress.begin()->second);
    std::string message = absl::StrCat("no progress for ", FormatDuration(state.options.stall),
                                       " (stall_seconds) though its worker answers");
    const v1::FailureClass failure = DeviceFailed(context, attempt, v1::STALLED, message);
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

// Further trials of the sweeps that want some.
void ExpandSweeps(Context& context) {
  State& state = context.state;
  std::uint64_t budget = state.options.expand_per_tick;
  for (auto at = state.expanding.begin(); at != state.expanding.end() && budget > 0;) {
    Sweep& sweep = state.sweeps.at(*at++);  // Expand may erase it.
    if (!WantsTrials(state, sweep)) continue;
    if (!sweep.expander) {
      if (const absl::Status made = MakeExpander(state, sweep); !made.ok())
        StopSweep(context, sweep,
                  absl::StrCat("no further trials can be made, edit the sweep: ", made.message()));
      return;  // One grid a tick.
    }
    const std::uint64_t before = sweep.trials.size();
    // At most as many as it has: the answer to the submission is still on its way when the first are made.
    Expand(context, sweep, std::min(budget, std::max<std::uint64_t>(state.options.expand_first, before)));
    budget -= std::min<std::uint64_t>(budget, sweep.trials.size() - before);
  }
}

}  // namespace

void Tick(Context& context) {
  ExpireLeases(context);
  ExpireWorkers(context);
  EndStalledAttempts(context);
  EndOverTime(context);
  EndOverdueYields(context);
  SpendBudgets(context.state, context.now.at);
  EndSweepsOverLimit(context);
  EndHolderWaits(context);
  StartRetries(context);
  StartProbes(context);
  std::erase_if(context.state.lost_models,
                [&](const auto& lost) { return lost.second.until <= context.now.at; });
  EndStalledDataChecks(context);
  FailStagesWithoutData(context);
  PreemptForWaiting(context);
  SendGatheredFailures(context);
  CheckNoWorker(context);
  Finish(context);
  ExpandSweeps(context);
}

void RenewAllTerms(Context& context) {
  State& state = context.state;
  for (const auto& [incarnation, known] : state.workers.all()) {
    state.leases.Renew(incarnation, context.now.at);
    if (known.connected)
      state.workers.Seen(*state.workers.Find(incarnation), context.now.at, known.last_seen_wall);
  }
  for (auto& [token, attempt] : state.attempts) {
    NoteProgress(context, attempt);
    if (attempt.yields.empty()) continue;
    state.deadlines.yields.erase({attempt.yields_until, token});
    attempt.yields_until = context.now.at + kYieldTerm;
    state.deadlines.yields.emplace(attempt.yields_until, token);
  }
}

std::optional<Timestamp> NextDeadline(const State& state) {
  std::optional<Timestamp> next = state.leases.NextDeadline();
  const auto consider = [&next](std::optional<Timestamp> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  const Deadlines& deadlines = state.deadlines;
  consider(state.workers.NextDeadline());
  if (!deadlines.by_progress.empty()) consider(deadlines.by_progress.begin()->first + state.options.stall);
  if (!deadlines.retries.empty()) consider(deadlines.retries.begin()->first);
  if (!deadlines.probes.empty()) consider(deadlines.probes.begin()->first);
  if (!deadlines.yields.empty()) consider(deadlines.yields.begin()->first);
  if (!deadlines.attempt_limits.empty()) consider(deadlines.attempt_limits.begin()->first);
  if (!deadlines.sweep_limits.empty()) consider(deadlines.sweep_limits.begin()->first);
  if (!deadlines.budgets.empty()) consider(deadlines.budgets.begin()->first);
  for (const auto& [sha256, lost] : state.lost_models) consider(lost.until);
  if (!state.holder_waits.due.empty()) consider(state.holder_waits.due.begin()->first);
  consider(PreemptionDue(state));
  consider(DataCheckDue(state));
  consider(state.data_waits.lacking_due);
  consider(GatheredFailuresDue(state));
  consider(NoWorkerCheckDue(state));
  const auto wants_trials = [&](SweepId id) { return WantsTrials(state, state.sweeps.at(id)); };
  if (std::any_of(state.expanding.begin(), state.expanding.end(), wants_trials)) consider(Timestamp{});
  return next;
}

}  // namespace inlier
