// Time that attempts take, by attempt, stage, sweep and owner, and the deadlines of the limits on it
// (SweepSpec.limits, CallerLimits.gpu_hours). Consequences: usage/time_limits.h, sweeps/settle.h.
//
// An attempt counts from its lease to its end, for every sweep that needs its stage, while it does. Its GPU
// time is its time multiplied by the share of a GPU that it has, none on a CPU. An owner is charged for the
// attempts that are charged to its sweeps. There is one deadline for each attempt, sweep and owner; every
// change of it sets a new one.
#ifndef INLIER_COORDINATOR_USAGE_USAGE_H_
#define INLIER_COORDINATOR_USAGE_USAGE_H_

#include <optional>

#include "coordinator/state/feature.h"

namespace inlier {

// Counts attempts from their begin to their end, and starts none of owners whose budgets are used.
Feature UsageOfTime();

// Ends the sweeps that are over their time or have used their budget (limits.sweep_hours, limits.gpu_hours).
Feature SweepLimits();

// When the attempt is to stop, by the largest attempt_hours of the sweeps that need its stage; nullopt: never, or it stops.
std::optional<Timestamp> AttemptDue(const State& state, const Attempt& attempt);

// When the trials of the sweep that need the stage have run for its trial_hours, if its live attempt
// continues; a time in the past when they have already. nullopt: no limit, or no live attempt.
std::optional<Timestamp> TrialsDue(const State& state, const Stage& stage, const Sweep& sweep);

// When the sweep is to end; nullopt: never, as things are.
std::optional<Timestamp> SweepDue(const Sweep& sweep);

// Sets the deadline of an attempt.
void RefreshLimit(State& state, Attempt& attempt);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_USAGE_USAGE_H_
