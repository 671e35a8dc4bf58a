// Checks the attention of a trial: the softmax, the gate, norms of queries and keys.
#ifndef INLIER_SPEC_TRIAL_CHECKS_ATTENTION_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_ATTENTION_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds the problems of `attention` of a resolved spec, by itself and in its model.
void CheckAttention(const v1::TrialSpec& resolved, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_ATTENTION_CHECKS_H_
