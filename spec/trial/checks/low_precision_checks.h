// Checks which fields of training.low_precision have a meaning together, and with the model and the batch.
#ifndef INLIER_SPEC_TRIAL_CHECKS_LOW_PRECISION_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_LOW_PRECISION_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds the problems of training.low_precision. REQUIRES: `resolved` is resolved.
void CheckLowPrecision(const v1::TrialSpec& resolved, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_LOW_PRECISION_CHECKS_H_
