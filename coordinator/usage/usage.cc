#include "coordinator/usage/usage.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/deliberate_bug.h"
#include "base/time.h"
#include "coordinator/sweeps/settle.h"

namespace inlier {
namespace {

// Sums of many short times, as doubles, are that far from exact.
constexpr double kTolerance = 1e-12;
constexpr double kToleranceSeconds = 1e-6;

bool IsReached(double seconds, double limit) {
  return seconds >= limit * (1 - kTolerance) - kToleranceSeconds;
}

double Share(const Attempt& attempt) { return attempt.gpu_thousandths / 1000.0; }

std::int64_t Milliseconds(double seconds) { return std::llround(seconds * 1000); }

// Sets `due`, one of `deadlines`, to `to`.
template <typename Key>
void SetDue(std::set<std::pair<Timestamp, Key>>& deadlines, const Key& key, std::optional<Timestamp>& due,
            std::optional<Timestamp> to) {
  if (due == to) return;
  if (due) deadlines.erase({*due, key});
  if (to) deadlines.emplace(*to, key);
  due = to;
}

// Its meter has changed.
void RefreshBudget(State& state, const std::string& owner, OwnerBudget& budget, Timestamp now) {
  if (!budget.spent && IsReached(budget.used.GpuSeconds(now), budget.limit_seconds)) {
    budget.spent = true;
    state.ready.SetSpent(owner);
  }
  SetDue(state.deadlines.budgets, owner, budget.due,
         budget.spent ? std::nullopt : budget.used.GpuSecondsReach(budget.limit_seconds));
}

// nullptr: the owner of the sweep has no budget.
OwnerBudget* BudgetFor(State& state, SweepId sweep) {
  if (state.budgets.empty()) return nullptr;
  const auto at = state.budgets.find(state.sweeps.at(sweep).owner);
  return at == state.budgets.end() ? nullptr : &at->second;
}

// A limit that is reached: the state in which the sweep ends, and why, for users.
struct Reached {
  v1::SweepState state;
  std::string why;
};

std::optional<Reached> LimitReached(const Sweep& sweep, Timestamp now) {
  const v1::LimitsSpec& limits = sweep.spec.limits();
  const std::string id = sweep.id.ToString();
  if (limits.has_sweep_hours() && sweep.began + FromHours(limits.sweep_hours()) <= now) {
    return Reached{v1::STOPPED_BY_TIME,
                   absl::StrCat("the time of the sweep is over: it was submitted ",
                                FormatDuration(now - sweep.began), " ago, and limits.sweep_hours is ",
                                limits.sweep_hours(), "; for more of it: inlier edit ", id,
                                " --set limits.sweep_hours=HOURS, then inlier retry ", id)};
  }
  const double gpu_seconds = sweep.time.usage.GpuSeconds(now);
  if (limits.has_gpu_hours() && IsReached(gpu_seconds, limits.gpu_hours() * 3600)) {
    return Reached{v1::STOPPED_BY_BUDGET,
                   absl::StrCat("the budget of the sweep is used: its attempts took ", gpu_seconds / 3600,
                                " hours of GPUs, and limits.gpu_hours is ", limits.gpu_hours(),
                                "; for more of it: inlier edit ", id,
                                " --set limits.gpu_hours=HOURS, then inlier retry ", id)};
  }
  return std::nullopt;
}

void RefreshLimit(State& state, Sweep& sweep) {
  SetDue(state.deadlines.sweep_limits, sweep.id, sweep.time.limit_due, SweepDue(sweep));
}

// From now on the stage's live attempt, if there is one, counts for the sweep, or no longer.
void ChangeUse(Context& context, Stage& stage, SweepId id,
               void (UsageMeter::*change)(Timestamp, std::uint32_t)) {
  if (stage.live() == 0) return;
  State& state = context.state;
  Sweep& sweep = state.sweeps.at(id);
  Attempt& attempt = state.attempts.at(stage.live());
  (sweep.time.usage.*change)(context.now.at, attempt.gpu_thousandths);
  context.used.insert(id);
  RefreshLimit(state, sweep);
  RefreshLimit(state, attempt);
}

void BeginUse(Context& context, Attempt& attempt) {
  State& state = context.state;
  const Timestamp now = context.now.at;
  const double before = ToSeconds(RunningTime(attempt, now));
  for (const Dependent& dependent : state.stages.at(attempt.stage).Dependents()) {
    Sweep& sweep = state.sweeps.at(dependent.sweep);
    if (attempt.recovered) {
      // The stored sums hold the time before, up to `at`.
      const std::int64_t counted = std::max(attempt.times.leased.unix_ms, sweep.time.stored.at.unix_ms);
      const double rest = std::max<double>(0, static_cast<double>(context.now.wall.unix_ms - counted)) / 1000;
      sweep.time.usage.Add(rest, rest * Share(attempt));
    }
    sweep.time.usage.Start(now, attempt.gpu_thousandths);
    RefreshLimit(state, sweep);
  }
  if (OwnerBudget* budget = BudgetFor(state, attempt.sweep)) {
    budget->used.Add(before, before * Share(attempt));
    budget->used.Start(now, attempt.gpu_thousandths);
    RefreshBudget(state, state.sweeps.at(attempt.sweep).owner, *budget, now);
  }
  RefreshLimit(state, attempt);
}

void EndUse(Context& context, const Attempt& attempt, const AttemptEnd&) {
  State& state = context.state;
  const Timestamp now = context.now.at;
  Stage& stage = state.stages.at(attempt.stage);
  const double seconds = ToSeconds(RunningTime(attempt, now));
  const double gpu_seconds = seconds * Share(attempt);
  stage.edit().ran_ms += Milliseconds(seconds);
  for (const Dependent& dependent : stage.Dependents()) {
    Sweep& sweep = state.sweeps.at(dependent.sweep);
    sweep.time.usage.Stop(now, attempt.gpu_thousandths);
    context.used.insert(sweep.id);
    RefreshLimit(state, sweep);
  }
  Sweep& charged = state.sweeps.at(attempt.sweep);
  charged.time.charged_gpu_seconds += gpu_seconds;
  context.used.insert(charged.id);
  if (OwnerBudget* budget = BudgetFor(state, charged.id)) {
    budget->used.Stop(now, attempt.gpu_thousandths);
    RefreshBudget(state, charged.owner, *budget, now);
  }
  if (attempt.limit_due) state.deadlines.attempt_limits.erase({*attempt.limit_due, attempt.token});
  state.stats.attempt_seconds[static_cast<std::size_t>(KindIndex(stage.kind))] += seconds;
  state.stats.gpu_seconds += gpu_seconds;
}

void SweepLeaves(Context& context, Stage& stage, SweepId id) {
  ChangeUse(context, stage, id, &UsageMeter::Stop);
}

void SweepJoins(Context& context, Stage& stage, SweepId id) {
  // The attempt's time before is not the sweep's, after a restart too.
  ChangeUse(context, stage, id, &UsageMeter::Start);
}

// The sums of the sweep continue as they were stored, and its owner's GPU time is counted where it has a budget.
void BeginSweep(Context& context, Sweep& sweep) {
  State& state = context.state;
  const SweepUsage& stored = sweep.time.stored;
  sweep.time.usage.Add(stored.attempt_ms / 1000.0, stored.gpu_ms / 1000.0);
  sweep.time.charged_gpu_seconds = stored.charged_gpu_ms / 1000.0;
  const v1::CallerLimits* limits = state.options.LimitsOf(sweep.owner);
  if (limits == nullptr || !limits->has_gpu_hours()) return;
  OwnerBudget& budget = state.budgets[sweep.owner];
  budget.limit_seconds = limits->gpu_hours() * 3600;
  budget.used.Add(0, sweep.time.charged_gpu_seconds);
  RefreshBudget(state, sweep.owner, budget, context.now.at);
}

void LimitsChanged(Context& context, Sweep& sweep) {
  State& state = context.state;
  for (auto& [token, attempt] : state.attempts) {
    if (state.stages.at(attempt.stage).IsNeededBy(sweep.id)) RefreshLimit(state, attempt);
  }
}

void SpendBudgets(Context& context) {
  State& state = context.state;
  while (!state.deadlines.budgets.empty() && state.deadlines.budgets.begin()->first <= context.now.at) {
    const std::string owner = state.deadlines.budgets.begin()->second;
    RefreshBudget(state, owner, state.budgets.at(owner), context.now.at);
  }
}

void EndSweepsOverLimit(Context& context) {
  State& state = context.state;
  const auto& due = state.deadlines.sweep_limits;
  while (!due.empty() && due.begin()->first <= context.now.at) {
    Sweep& sweep = state.sweeps.at(due.begin()->second);
    const std::optional<Reached> reached = LimitReached(sweep, context.now.at);
    if (reached && SweepDue(sweep)) EndSweep(context, sweep, reached->state, "sweep_stopped", reached->why);
    RefreshLimit(state, sweep);
    if (!due.empty() && due.begin()->second == sweep.id && due.begin()->first <= context.now.at) break;
  }
}

// Stores the sums of the sweeps that have changed.
void CommitUsage(Context& context) {
  for (const SweepId id : context.used) {
    Sweep& sweep = context.state.sweeps.at(id);
    const Timestamp now = context.now.at;
    sweep.time.stored = {.id = id,
                         .attempt_ms = Milliseconds(sweep.time.usage.AttemptSeconds(now)),
                         .gpu_ms = Milliseconds(sweep.time.usage.GpuSeconds(now)),
                         .charged_gpu_ms = Milliseconds(sweep.time.charged_gpu_seconds),
                         .log_lines = sweep.time.log_lines,
                         .at = context.now.wall};
    if (!INLIER_BUG("used_time_not_stored")) context.out.changes.Add(SweepUsage(sweep.time.stored));
  }
  context.used.clear();
}

std::string Hours(double hours) { return absl::StrFormat("%.3g", hours); }

// Its limits, and the used part of each; of a sweep that a limit has ended, which.
void ExplainSweep(const State&, const Sweep& sweep, Timestamp now, v1::Explanation& of) {
  const v1::LimitsSpec& limits = sweep.spec.limits();
  if (sweep.state != v1::ACTIVE && sweep.Open() == 0) {
    const bool stopped = sweep.state == v1::STOPPED_BY_TIME || sweep.state == v1::STOPPED_BY_BUDGET;
    const std::optional<Reached> reached = LimitReached(sweep, now);
    if (stopped && reached) Because(of, reached->why);
    return;
  }
  if (limits.has_sweep_hours()) {
    Because(of, "it was submitted ", FormatDuration(now - sweep.began), " ago, and is stopped after ",
            FormatDuration(FromHours(limits.sweep_hours())), " (limits.sweep_hours)");
  }
  if (limits.has_gpu_hours()) {
    Because(of, "it has used ", Hours(sweep.time.usage.GpuSeconds(now) / 3600),
            " hours of GPUs, and is stopped at ", Hours(limits.gpu_hours()), " (limits.gpu_hours)");
  }
}

void ExplainBudget(const State& state, const Sweep& sweep, Timestamp now, v1::Explanation& of) {
  const auto at = state.budgets.find(sweep.owner);
  if (at == state.budgets.end() || !at->second.spent) return;
  Because(of, "the sweeps of ", sweep.owner, " have used ", Hours(at->second.used.GpuSeconds(now) / 3600),
          " hours of GPUs, and its gpu_hours is ", Hours(at->second.limit_seconds / 3600),
          "; an admin raises it in the coordinator's configuration (callers)");
}

void ExplainAttempt(const State& state, const Attempt& attempt, Timestamp now, v1::Explanation& of) {
  if (const std::optional<Timestamp> due = AttemptDue(state, attempt))
    Because(of, "it may run for another ", FormatDuration(*due - now), " (limits.attempt_hours)");
}

void DescribeSweep(const Sweep& sweep, Timestamp now, v1::SweepStatus& status) {
  status.set_attempt_hours(sweep.time.usage.AttemptSeconds(now) / 3600);
  status.set_gpu_hours(sweep.time.usage.GpuSeconds(now) / 3600);
}

void RefuseRetry(const Sweep& sweep, Timestamp now, std::string& why) {
  if (const std::optional<Reached> reached = LimitReached(sweep, now)) why = reached->why;
}

}  // namespace

Feature UsageOfTime() {
  return {.due = [](const State& state) { return FirstOf(state.deadlines.budgets); },
          .act = SpendBudgets,
          .attempt_began = BeginUse,
          .attempt_ended = EndUse,
          .sweep_left_stage = SweepLeaves,
          .sweep_joined_stage = SweepJoins,
          .sweep_began = BeginSweep,
          .call_ends = CommitUsage,
          .explain_wait = ExplainBudget,
          .explain_attempt = ExplainAttempt,
          .describe_sweep = DescribeSweep};
}

Feature SweepLimits() {
  return {.due = [](const State& state) { return FirstOf(state.deadlines.sweep_limits); },
          .act = EndSweepsOverLimit,
          .sweep_changed = [](Context& context, Sweep& sweep) { RefreshLimit(context.state, sweep); },
          .limits_changed = LimitsChanged,
          .explain_sweep = ExplainSweep,
          .refuse_retry = RefuseRetry};
}

std::optional<Timestamp> AttemptDue(const State& state, const Attempt& attempt) {
  if (!attempt.yield.why.empty() || INLIER_BUG("attempt_hours_ignored")) return std::nullopt;
  double longest = 0;
  for (const Dependent& dependent : state.stages.at(attempt.stage).Dependents()) {
    const v1::LimitsSpec& limits = state.sweeps.at(dependent.sweep).spec.limits();
    if (!limits.has_attempt_hours()) return std::nullopt;
    longest = std::max(longest, limits.attempt_hours());
  }
  if (longest == 0) return std::nullopt;
  return attempt.times.began + FromHours(longest);
}

std::optional<Timestamp> TrialsDue(const State& state, const Stage& stage, const Sweep& sweep) {
  const v1::LimitsSpec& limits = sweep.spec.limits();
  if (!limits.has_trial_hours()) return std::nullopt;
  const Duration left = FromHours(limits.trial_hours()) - std::chrono::milliseconds(stage.detail().ran_ms);
  if (stage.live() != 0) return state.attempts.at(stage.live()).times.began + left;
  return left > Duration::zero() ? std::nullopt : std::optional(Timestamp{});
}

std::optional<Timestamp> SweepDue(const Sweep& sweep) {
  if (sweep.state != v1::ACTIVE && sweep.Open() == 0) return std::nullopt;
  const v1::LimitsSpec& limits = sweep.spec.limits();
  std::optional<Timestamp> due;
  if (limits.has_gpu_hours()) due = sweep.time.usage.GpuSecondsReach(limits.gpu_hours() * 3600);
  if (limits.has_sweep_hours()) due = Earlier(due, sweep.began + FromHours(limits.sweep_hours()));
  return due;
}

void RefreshLimit(State& state, Attempt& attempt) {
  const Stage& stage = state.stages.at(attempt.stage);
  std::optional<Timestamp> due = AttemptDue(state, attempt);
  for (const Dependent& dependent : stage.Dependents())
    due = Earlier(due, TrialsDue(state, stage, state.sweeps.at(dependent.sweep)));
  SetDue(state.deadlines.attempt_limits, attempt.token, attempt.limit_due, due);
}

}  // namespace inlier
