// Time that stages need on a worker whose job ends: such a worker takes none that would end without a result and without
// a checkpoint.
//
// A training writes a checkpoint when it is asked to end, so it needs the time up to its first step; an evaluation has
// none and needs all its time. Both are measured on attempts of the same sweep, with half as much again for those that
// take longer. A stage that saved nothing in a job that ended needs half as much again as it had; one that had nearly a
// whole job needs a longer job. Otherwise a new job is always long enough. Until something is known only
// kLeastSecondsOfAJob applies. Times are in a few steps, each twice the one before, because stages are queued by what
// they need. Nothing of this is stored.
#ifndef INLIER_COORDINATOR_SCHEDULING_JOB_ENDS_H_
#define INLIER_COORDINATOR_SCHEDULING_JOB_ENDS_H_

#include "coordinator/state/feature.h"

namespace inlier {

// 0: nothing is known.
std::uint32_t SecondsNeeded(const State& state, SweepId sweep, const Stage& stage);

// An attempt has taken so long up to its first training step, or to the end of its evaluation.
void NoteTimeNeeded(Context& context, const Stage& stage, Duration took);

// A worker that is silent has ended with its job: that was due, or it had been asked to end.
bool EndedWithItsJob(const WorkerEntry& worker, Timestamp now);

// Learns from attempts that end with their workers' jobs.
Feature JobEnds();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SCHEDULING_JOB_ENDS_H_
