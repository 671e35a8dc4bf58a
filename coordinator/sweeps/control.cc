#include "coordinator/sweeps/control.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/status.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/scheduling/preemption.h"
#include "coordinator/state/feature.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/transitions.h"
#include "coordinator/sweeps/expand.h"
#include "coordinator/sweeps/settle.h"
#include "spec/program/import_source.h"

namespace inlier {
namespace {

absl::Status CheckRuns(const State& state, SweepId id) {
  const Sweep& sweep = state.sweeps.at(id);
  return CheckNotImported(sweep.spec, absl::StrCat(id.ToString(), " (", sweep.spec.name(), ")"));
}

bool RetryTrial(Context& context, Trial& trial, bool pruned_too) {
  if (trial.withdrawn) return false;
  if (trial.state != v1::FAILED && trial.state != v1::CANCELLED) return false;
  if (!trial.train) return false;  // An invalid spec can never run.
  const TrialPruningState before = trial.pruning;
  if (before == TrialPruningState::kPruned) {
    if (!pruned_too) return false;
    SetPruning(context.state.sweeps.at(trial.sweep), trial, TrialPruningState::kKept);
  }
  SetTrialState(context, trial, v1::PENDING, "");
  std::string message;
  const v1::TrialState to = Link(context, trial, Reopens(), message);
  if (trial.pruning != before) context.out.changes.Add(TrialPruning{.id = trial.id, .state = trial.pruning});
  SetTrialState(context, trial, to, message);
  return true;
}

// The files may have been put back: its attempts find that out.
void ForgetOtherData(State& state, const Sweep& sweep) {
  for (const auto& [source, version] : sweep.bound.of_source) {
    if (!state.data.source(source).differs) continue;
    for (const auto& [incarnation, worker] : state.workers.all())
      state.workers.Find(incarnation)->resources.SetData(source, DataId());
    state.idle.no_fit_up_to.clear();
  }
}

void SetPaused(Context& context, Sweep& sweep, bool paused) {
  State& state = context.state;
  sweep.paused = paused;
  if (sweep.state == v1::ACTIVE) state.counts.paused_sweeps += paused ? 1 : -1;
  state.ready.SetRules(sweep.id, RulesOf(state, sweep));
  if (!INLIER_BUG("pause_not_stored"))
    context.out.changes.Add(SweepChange{.id = sweep.id,
                                        .state = std::nullopt,
                                        .next_point = std::nullopt,
                                        .at = context.now.wall,
                                        .paused = paused});
  context.Log("sweep_", paused ? "paused" : "resumed", " sweep=", sweep.id.ToString());
  Notice(context, sweep, paused ? "sweep_paused" : "sweep_resumed",
         paused ? "the sweep is paused: no new attempts start" : "the sweep is resumed");
}

}  // namespace

absl::StatusOr<v1::CancelResponse> Cancel(Context& context, const v1::CancelRequest& request,
                                          const Caller& caller) {
  State& state = context.state;
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Cancel needs a sweep or a trial, one of the two");
  }
  v1::CancelResponse response;
  if (request.has_trial()) {
    ASSIGN_OR_RETURN(const TrialId id, FindTrial(state, request.trial()));
    Trial& trial = state.trials.at(id);
    if (!IsTerminal(trial.state) || INLIER_BUG("terminal_state_overwritten")) {
      SetTrialState(context, trial, v1::CANCELLED, "cancelled");
      response.set_cancelled(1);
    }
    return response;
  }
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  RETURN_IF_ERROR(CheckRuns(state, id));
  response.set_cancelled(EndSweep(context, state.sweeps.at(id), v1::SWEEP_CANCELLED, "sweep_cancelled",
                                  "the sweep was cancelled"));
  return response;
}

absl::StatusOr<v1::RetryResponse> Retry(Context& context, const v1::RetryRequest& request,
                                        const Caller& caller) {
  State& state = context.state;
  if (request.has_sweep() == request.has_trial()) {
    return absl::InvalidArgumentError("Retry needs a sweep or a trial, one of the two");
  }
  v1::RetryResponse response;
  std::uint64_t retried = 0;
  SweepId sweep_id;
  const auto within_limits = [&](SweepId id) {
    RETURN_IF_ERROR(CheckRuns(state, id));
    std::string why;
    ForEachFeature(&Feature::refuse_retry, state.sweeps.at(id), context.now.at, why);
    return why.empty() ? absl::OkStatus()
                       : absl::FailedPreconditionError(
                             absl::StrCat("nothing of sweep ", id.ToString(), " can be retried: ", why));
  };
  if (request.has_trial()) {
    ASSIGN_OR_RETURN(const TrialId id, FindTrial(state, request.trial()));
    if (state.trials.at(id).withdrawn) {
      return absl::FailedPreconditionError(
          absl::StrCat("trial ", id.ToString(),
                       " was withdrawn by an edit of its sweep; bring its values back with another edit"));
    }
    sweep_id = state.trials.at(id).sweep;
    RETURN_IF_ERROR(within_limits(sweep_id));
    if (RetryTrial(context, state.trials.at(id), /*pruned_too=*/true)) ++retried;
  } else {
    ASSIGN_OR_RETURN(sweep_id, FindSweep(state, request.sweep(), caller.name));
    RETURN_IF_ERROR(within_limits(sweep_id));
    for (const TrialId id : state.sweeps.at(sweep_id).trials) {
      if (RetryTrial(context, state.trials.at(id), /*pruned_too=*/false)) ++retried;
    }
  }
  Sweep& sweep = state.sweeps.at(sweep_id);
  if (retried > 0) ForgetOtherData(state, sweep);
  // Points that a sweep which was cancelled or stopped never made into trials are retried too.
  const bool unfinished = request.has_sweep() && sweep.state != v1::ACTIVE && !sweep.Exhausted();
  if (unfinished) retried += sweep.Total() - sweep.trials.size();
  // One trial of a sweep that ended before all its points were trials runs alone: the others stay unmade.
  if (sweep.state != v1::ACTIVE && retried > 0 &&
      (request.has_sweep() || sweep.Exhausted() || INLIER_BUG("retried_trial_reopens_sweep"))) {
    SetSweepState(context, sweep, v1::ACTIVE);
    Notice(context, sweep, "sweep_retried", absl::StrCat("a retry was asked for: ", retried, " trials"));
    sweep.bound.since = state.next_token;
    if (unfinished) state.expanding.insert(sweep.id);
    context.settle.insert(sweep.id);
  }
  if (retried > 0) ForEachFeature(&Feature::sweep_changed, context, sweep);
  response.set_retried(retried);
  return response;
}

absl::StatusOr<v1::PauseSweepResponse> PauseSweep(Context& context, const v1::PauseSweepRequest& request,
                                                  const Caller& caller) {
  State& state = context.state;
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  RETURN_IF_ERROR(CheckRuns(state, id));
  Sweep& sweep = state.sweeps.at(id);
  if (sweep.state != v1::ACTIVE) {
    return absl::FailedPreconditionError(absl::StrCat("sweep ", id.ToString(), " has ended (",
                                                      v1::SweepState_Name(sweep.state),
                                                      "): there is nothing to pause"));
  }
  v1::PauseSweepResponse response;
  response.set_changed(!sweep.paused);
  if (!sweep.paused) SetPaused(context, sweep, true);
  for (auto& [token, attempt] : state.attempts) {
    const Stage& stage = state.stages.at(attempt.stage);
    if (!stage.IsNeededBy(id)) continue;
    const auto dependents = stage.Dependents();
    const bool needed_elsewhere = std::ranges::any_of(
        dependents, [&](const Dependent& dependent) { return !state.sweeps.at(dependent.sweep).paused; });
    if (request.now() && !needed_elsewhere) {
      Yield(context, attempt, absl::StrCat("sweep ", id.ToString(), " is paused"));
      response.set_stopping(response.stopping() + 1);
    } else {
      response.set_running(response.running() + 1);
    }
  }
  return response;
}

absl::StatusOr<v1::ResumeSweepResponse> ResumeSweep(Context& context, const v1::ResumeSweepRequest& request,
                                                    const Caller& caller) {
  State& state = context.state;
  ASSIGN_OR_RETURN(const SweepId id, FindSweep(state, request.sweep(), caller.name));
  RETURN_IF_ERROR(CheckRuns(state, id));
  Sweep& sweep = state.sweeps.at(id);
  v1::ResumeSweepResponse response;
  response.set_changed(sweep.paused);
  if (sweep.paused) SetPaused(context, sweep, false);
  return response;
}

absl::StatusOr<v1::DrainWorkerResponse> DrainWorker(Context& context, const v1::DrainWorkerRequest& request,
                                                    const Caller&) {
  State& state = context.state;
  if (request.resume() && request.now()) {
    return absl::InvalidArgumentError("resume and now exclude each other; give one of the two");
  }
  ASSIGN_OR_RETURN(const std::string incarnation, FindWorker(state, request.worker()));
  WorkerEntry& worker = *state.workers.Find(incarnation);
  const bool held = !request.resume();
  v1::DrainWorkerResponse response;
  response.set_incarnation(incarnation);
  response.set_changed(worker.unavailable.held != held);
  if (worker.unavailable.held != held) {
    worker.unavailable.held = held;
    RefreshOffer(state, worker);
    CommitWorker(context, worker);
    context.Log("worker_", held ? "drained" : "resumed", " worker=", worker.name,
                " incarnation=", worker.incarnation);
  }
  for (const Token token : state.leases.HeldBy(incarnation)) {
    if (request.now()) {
      Yield(context, state.attempts.at(token), absl::StrCat("worker ", worker.name, " is drained"));
      response.set_stopping(response.stopping() + 1);
    } else {
      response.set_running(response.running() + 1);
    }
  }
  return response;
}

void DrainJobs(Context& context, const JobDrain& drain) {
  State& state = context.state;
  state.jobs.drained = drain.jobs;
  state.jobs.workers_come = drain.workers_come;
  for (const auto& [incarnation, known] : state.workers.all()) {
    const bool drained = drain.jobs.contains(known.job);
    if (known.unavailable.job_drained != drained) {
      WorkerEntry& worker = *state.workers.Find(incarnation);
      worker.unavailable.job_drained = drained;
      RefreshOffer(state, worker);
    }
    if (!drained || drain.yield.empty()) continue;
    for (const Token token : state.leases.HeldBy(incarnation))
      Yield(context, state.attempts.at(token), drain.yield);
  }
}

}  // namespace inlier
