// Checks the attention of a trial: the softmax, the gate, norms of queries and keys, masks.
#ifndef INLIER_SPEC_TRIAL_CHECKS_ATTENTION_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_ATTENTION_CHECKS_H_

#include <string>

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds the problems of `attention` of a resolved spec, by itself and in its model.
void CheckAttention(const v1::TrialSpec& resolved, Problems* problems);

// Adds the problems of `path`, a window or a mask of texts, with the softmax and the prefix of a trial.
void CheckOtherMask(const v1::TrialSpec& spec, const std::string& path, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_ATTENTION_CHECKS_H_
