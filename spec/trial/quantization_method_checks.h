// Which number formats, and which methods beyond rounding to the nearest, have a meaning in a QuantizationSpec.
#ifndef INLIER_SPEC_TRIAL_QUANTIZATION_METHOD_CHECKS_H_
#define INLIER_SPEC_TRIAL_QUANTIZATION_METHOD_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Problems with formats, rotation, smoothing, gptq and kv_cache of a resolved trial. REQUIRES: it has a quantization.
void CheckQuantizationMethods(const v1::TrialSpec& spec, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_QUANTIZATION_METHOD_CHECKS_H_
