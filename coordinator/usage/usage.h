// Time that attempts take, by attempt, stage, sweep and owner, and the deadlines of the limits on it
// (SweepSpec.limits, CallerLimits.gpu_hours). Consequences: usage/time_limits.h, sweeps/settle.h.
//
// An attempt counts from its lease to its end, for every sweep that needs its stage, while it does. Its GPU
// time is its time multiplied by the share of a GPU that it has, none on a CPU. An owner is charged for the
// attempts that are charged to its sweeps. There is one deadline for each attempt, sweep and owner; every
// change of it sets a new one.
//
// Thread safety: none; functions of the State on the coordinator's thread.
#ifndef INLIER_COORDINATOR_USAGE_USAGE_H_
#define INLIER_COORDINATOR_USAGE_USAGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/state/feature.h"

namespace inlier {

// Counts attempts from their begin to their end, and starts none of owners whose budgets are used.
Feature UsageOfTime();

// A sweep begins to need the stage while an attempt of it may be live.
void SweepJoins(Context& context, Stage& stage, SweepId sweep);

// When the attempt is to stop: the largest attempt_hours of the sweeps that need its stage. nullopt: one has
// none, or it is asked to stop already.
std::optional<Timestamp> AttemptDue(const State& state, const Attempt& attempt);

// When the trials of the sweep that need the stage have run for its trial_hours, if its live attempt
// continues; a time in the past when they have already. nullopt: no limit, or no live attempt.
std::optional<Timestamp> TrialsDue(const State& state, const Stage& stage, const Sweep& sweep);

// When the sweep is to end; nullopt: never, as things are.
std::optional<Timestamp> SweepDue(const Sweep& sweep);

// A limit that is reached: the state in which the sweep ends, and why, for people.
struct Reached {
  v1::SweepState state;
  std::string why;
};
std::optional<Reached> LimitReached(const Sweep& sweep, Timestamp now);

// Sets the deadline of an attempt; of a sweep, which is new or ACTIVE again.
void RefreshLimit(State& state, Attempt& attempt);
void RefreshLimit(State& state, Sweep& sweep);
// The limits of the sweep have changed: those of the live attempts at its stages, too. Walks the live
// attempts.
void RefreshLimits(State& state, Sweep& sweep);

// The sweep is known from now on: its owner's GPU time is counted where it has a budget, with the sweep's
// part of it.
void CountForOwner(State& state, const Sweep& sweep, Timestamp now);
// GPU hours of all sweeps of the owner, and their limit; nullopt: it has none.
struct Budget {
  double used_hours;
  double limit_hours;
};
std::optional<Budget> BudgetOf(const State& state, const std::string& owner, Timestamp now);

// Stores the sums of the sweeps in context.used, and clears it.
void CommitUsage(Context& context);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_USAGE_USAGE_H_
