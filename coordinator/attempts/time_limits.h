// Attempts and trials that have run for longer than their sweeps allow: limits.attempt_hours,
// limits.trial_hours.
//
// An attempt over its time is asked to write a checkpoint and stop, and has TIMED_OUT when it has stopped:
// the stage is tried again from there, as retry.max_crashes allows. A trial over its time is FAILED; the
// stage runs on while another sweep needs it.
#ifndef INLIER_COORDINATOR_ATTEMPTS_TIME_LIMITS_H_
#define INLIER_COORDINATOR_ATTEMPTS_TIME_LIMITS_H_

#include "coordinator/state/context.h"

namespace inlier {

// Looks at the live attempts whose deadlines have come.
void EndOverTime(Context& context);

// Fails the trials on the stage that are over their time.
void FailTrialsOverTime(Context& context, Stage& stage);

// The training has succeeded: its time counts for the evaluations that wait for it, where trial_hours limits
// both.
void CarryTime(Context& context, const Stage& train);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ATTEMPTS_TIME_LIMITS_H_
