// Checks evaluation.intervention.
#ifndef INLIER_SPEC_TRIAL_CHECKS_INTERVENTION_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_INTERVENTION_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds the problems of the intervention of a resolved trial, if it has one.
void CheckIntervention(const v1::TrialSpec& spec, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_INTERVENTION_CHECKS_H_
