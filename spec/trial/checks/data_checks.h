// Checks the data of a trial against its model, tokenizer, objective and sources.
#ifndef INLIER_SPEC_TRIAL_CHECKS_DATA_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_DATA_CHECKS_H_

#include <string>

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds the problems of `data` of a resolved spec, and of model and evaluation with it.
void CheckData(const v1::TrialSpec& resolved, Problems* problems);

// Adds a problem for a relative path, which would depend on the worker's working folder.
void CheckAbsolutePath(const std::string& field, const std::string& path, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_DATA_CHECKS_H_
