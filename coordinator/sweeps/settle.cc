#include "coordinator/sweeps/settle.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/attempts/stage_results.h"
#include "coordinator/state/transitions.h"

namespace inlier {
namespace {

constexpr std::uint64_t kFailureRatioTrialsMin = 10;  // Ended trials before their ratio counts.

std::string WhyStopByFailures(const Sweep& sweep) {
  const v1::SweepSpec& spec = sweep.spec;
  const std::uint64_t failed = sweep.Count(v1::FAILED);
  if (spec.stop_after_failures() > 0 && failed >= spec.stop_after_failures()) {
    return absl::StrCat("the sweep was stopped after ", failed,
                        " failed trials (stop_after_failures = ", spec.stop_after_failures(), ")");
  }
  const std::uint64_t ended = failed + sweep.Count(v1::SUCCEEDED) + sweep.Count(v1::DIVERGED);
  if (spec.has_stop_after_failure_ratio() && ended >= kFailureRatioTrialsMin &&
      static_cast<double>(failed) >= spec.stop_after_failure_ratio() * static_cast<double>(ended)) {
    return absl::StrCat("the sweep was stopped after ", failed, " of ", ended,
                        " trials had failed (stop_after_failure_ratio = ", spec.stop_after_failure_ratio(),
                        ")");
  }
  return "";
}

void Settle(Context& context, Sweep& sweep) {
  if (sweep.state != v1::ACTIVE) return;
  if (const std::string why = WhyStopByFailures(sweep); !why.empty()) {
    StopSweep(context, sweep, why);
  } else if (sweep.Open() == 0 && sweep.Exhausted()) {
    SetSweepState(context, sweep, v1::COMPLETE);
  }
}

}  // namespace

void StopSweep(Context& context, Sweep& sweep, const std::string& why) {
  State& state = context.state;
  SetExpander(state, sweep, nullptr);
  SetSweepState(context, sweep, v1::STOPPED_BY_FAILURES);
  Notice(context, sweep, "sweep_stopped", why);
  for (const TrialId id : sweep.trials) {
    Trial& trial = state.trials.at(id);
    if (trial.state == v1::PENDING) SetTrialState(context, trial, v1::CANCELLED, why);
  }
}

std::uint64_t EndSweep(Context& context, Sweep& sweep, v1::SweepState to, const std::string& kind,
                       const std::string& why) {
  State& state = context.state;
  std::uint64_t cancelled = 0;
  if (sweep.state == v1::ACTIVE) {
    cancelled = sweep.Total() - sweep.trials.size();
    SetExpander(state, sweep, nullptr);
    SetSweepState(context, sweep, to);
    Notice(context, sweep, kind, why);
  }
  for (const TrialId id : sweep.trials) {
    Trial& trial = state.trials.at(id);
    if (IsTerminal(trial.state)) continue;
    SetTrialState(context, trial, v1::CANCELLED, why);
    ++cancelled;
  }
  return cancelled;
}

void SettleSweeps(Context& context) {
  while (!context.settle.empty())
    Settle(context, context.state.sweeps.at(context.settle.extract(context.settle.begin()).value()));
}

void Finish(Context& context) {
  SettleSweeps(context);
  ForEachFeature(&Feature::call_ends, context);
  for (const auto& [id, before] : context.changed) {
    const Trial& trial = context.state.trials.at(id);
    if (!IsTerminal(trial.state) && !IsTerminal(before)) continue;  // RUNNING follows from attempts.
    if (IsTerminal(before) && trial.state != before && IsTerminal(trial.state)) {
      // It was opened again on the way, and only so may it change.
      context.out.changes.Add(TrialChange{.id = id, .state = v1::PENDING, .message = ""});
    }
    context.out.changes.Add(TrialChange{.id = id, .state = trial.state, .message = trial.message()});
  }
  context.changed.clear();
}

}  // namespace inlier
