// Checks the data of a trial against its model, its tokenizer, its objective and the places it is read from.
#ifndef INLIER_SPEC_TRIAL_DATA_CHECKS_H_
#define INLIER_SPEC_TRIAL_DATA_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds what is wrong with `data` of a resolved spec, and with what its model and its evaluation ask of it.
void CheckData(const v1::TrialSpec& resolved, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_DATA_CHECKS_H_
