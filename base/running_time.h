// The time for which this process really ran: a worker suspends its trials while its coordinator is away
// (worker/attempt_hold.h), and what a trial measures of its own speed must not count that.
//
// The worker tells how long it was with the signal by which the trial goes on (SIGCONT with a value); without
// that, nothing is taken off.
//
// Thread safety: all functions on any thread; AddSuspended in a signal handler, too.
#ifndef INLIER_BASE_RUNNING_TIME_H_
#define INLIER_BASE_RUNNING_TIME_H_

#include "base/time.h"

namespace inlier {

// MonotonicNow() less the time that this process stood still. Only differences mean something.
Timestamp RunningNow();

// This process has stood still for `time`. Negative times are nothing.
void AddSuspended(Duration time);

// From now on the parent's SIGCONT with a value in milliseconds (TrialProcess::Continue) is AddSuspended.
void CountSuspensionsByParent();

}  // namespace inlier

#endif  // INLIER_BASE_RUNNING_TIME_H_
