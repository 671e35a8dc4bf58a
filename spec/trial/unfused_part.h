// Which part of a trial the fused engine lacks on a CPU (docs/decisions/0021-two-engines.md).
#ifndef INLIER_SPEC_TRIAL_UNFUSED_PART_H_
#define INLIER_SPEC_TRIAL_UNFUSED_PART_H_

#include <string_view>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The path of the field, for which the training runs by training.engine REFERENCE; empty where all can be fused. Sizes are
// not looked at.
std::string_view UnfusedPart(const v1::TrialSpec& spec);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_UNFUSED_PART_H_
