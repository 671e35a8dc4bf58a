// Attempts and trials that have run for longer than their sweeps allow: limits.attempt_hours,
// limits.trial_hours.
//
// An attempt over its time is asked to write a checkpoint and stop, and has TIMED_OUT when it has stopped:
// the stage is tried again from there, as retry.max_crashes allows. A trial over its time is FAILED; the
// stage runs on while another sweep needs it.
#ifndef INLIER_COORDINATOR_USAGE_TIME_LIMITS_H_
#define INLIER_COORDINATOR_USAGE_TIME_LIMITS_H_

#include "coordinator/state/feature.h"

namespace inlier {

Feature TimeLimits();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_USAGE_TIME_LIMITS_H_
