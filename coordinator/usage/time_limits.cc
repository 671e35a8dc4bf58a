#include "coordinator/usage/time_limits.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/attempts/attempt_end.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/scheduling/preemption.h"
#include "coordinator/state/transitions.h"
#include "coordinator/usage/usage.h"

namespace inlier {
namespace {

// The sweep that allows the attempts of the stage the longest time.
const Sweep& MostPatient(const State& state, const Stage& stage) {
  const auto dependents = stage.Dependents();
  const auto hours = [&](const Dependent& dependent) {
    return state.sweeps.at(dependent.sweep).spec.limits().attempt_hours();
  };
  return state.sweeps.at(std::ranges::max_element(dependents, [&](const auto& a, const auto& b) {
                           return hours(a) < hours(b);
                         })->sweep);
}

std::string WhyAttempt(const Sweep& sweep, Duration ran) {
  const std::string id = sweep.id.ToString();
  return absl::StrCat("it ran for ", FormatDuration(ran), ", and limits.attempt_hours of ", id, " is ",
                      sweep.spec.limits().attempt_hours(), "; for longer attempts: inlier edit ", id,
                      " --set limits.attempt_hours=HOURS, for more of them retry.max_crashes");
}

std::string WhyTrial(const Sweep& sweep) {
  const std::string id = sweep.id.ToString();
  return absl::StrCat("its attempts together ran for longer than limits.trial_hours of ", id, ", which is ",
                      sweep.spec.limits().trial_hours(), "; for more time: inlier edit ", id,
                      " --set limits.trial_hours=HOURS, then retry it");
}

// Fails the trials on the stage that are over their time.
void FailTrialsOverTime(Context& context, Stage& stage) {
  State& state = context.state;
  if (IsTerminal(stage.state)) return;
  const auto dependents = stage.Dependents();
  std::vector<SweepId> over;
  for (const Dependent& dependent : dependents) {
    const std::optional<Timestamp> due = TrialsDue(state, stage, state.sweeps.at(dependent.sweep));
    if (due && *due <= context.now.at) over.push_back(dependent.sweep);
  }
  if (over.empty()) return;
  if (over.size() == dependents.size()) {  // So that later trials of these sweeps do not try it again.
    const std::string why = WhyTrial(state.sweeps.at(over.back()));
    if (stage.live() != 0) EndAttempt(context, stage.live(), v1::CANCELLED, std::nullopt, why, why);
    ForgetRetry(state, stage);
    stage.ready = false;
    FailStage(context, stage, why);
    return;
  }
  for (const TrialId id : stage.DependentTrials()) {
    Trial& trial = state.trials.at(id);
    if (std::ranges::find(over, trial.sweep) == over.end()) continue;
    Sweep& sweep = state.sweeps.at(trial.sweep);
    const std::string why = WhyTrial(sweep);
    Notice(context, sweep, "trial_over_time", absl::StrCat(id.ToString(), " FAILED: ", why),
           {.trial = id, .stage = stage.id});
    SetTrialState(context, trial, v1::FAILED, why);
  }
}

// Of trials that wait, after an edit of the limits. A trial that runs has a deadline.
void FailWaitingOverTime(Context& context, Sweep& sweep) {
  State& state = context.state;
  std::set<StageId> stages;
  for (const TrialId id : sweep.trials) {
    const Trial& trial = state.trials.at(id);
    if (!IsTerminal(trial.state)) stages.insert({trial.train, trial.evaluate});
  }
  for (const StageId id : stages) FailTrialsOverTime(context, state.stages.at(id));
}

void EndOverTime(Context& context) {
  State& state = context.state;
  while (!state.deadlines.attempt_limits.empty() &&
         state.deadlines.attempt_limits.begin()->first <= context.now.at) {
    const Token token = state.deadlines.attempt_limits.begin()->second;
    Stage& stage = state.stages.at(state.attempts.at(token).stage);
    FailTrialsOverTime(context, stage);
    const auto at = state.attempts.find(token);
    if (at == state.attempts.end()) continue;  // No trial needs it any more.
    Attempt& attempt = at->second;
    const std::optional<Timestamp> due = AttemptDue(state, attempt);
    if (due && *due <= context.now.at) {
      Yield(context, attempt, WhyAttempt(MostPatient(state, stage), RunningTime(attempt, context.now.at)),
            /*timed_out=*/true);
    }
    RefreshLimit(state, attempt);
  }
}

// The time of a training counts for the evaluations that wait for it, where trial_hours limits both.
void CarryTime(Context& context, const Stage& train) {
  State& state = context.state;
  if (train.kind != v1::TRAIN_STAGE) return;
  const std::int64_t ran_ms = train.detail().ran_ms;
  if (ran_ms == 0) return;
  for (const StageId id : train.evaluations) {
    Stage& evaluate = state.stages.at(id);
    const auto dependents = evaluate.Dependents();
    const bool limited = std::ranges::any_of(dependents, [&](const Dependent& dependent) {
      return state.sweeps.at(dependent.sweep).spec.limits().has_trial_hours();
    });
    if (!limited) continue;
    evaluate.edit().ran_ms += ran_ms;
    CommitStage(context, evaluate);
  }
}

}  // namespace

Feature TimeLimits() {
  return {.due = [](const State& state) { return FirstOf(state.deadlines.attempt_limits); },
          .act = EndOverTime,
          .stage_waits = FailTrialsOverTime,
          .stage_succeeded = CarryTime,
          .limits_changed = FailWaitingOverTime};
}

}  // namespace inlier
