// Checks the number formats, and the methods beyond rounding to the nearest, of a QuantizationSpec.
#ifndef INLIER_SPEC_TRIAL_CHECKS_QUANTIZATION_METHOD_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_QUANTIZATION_METHOD_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds the problems of formats, groups, smoothing, gptq and awq that hang on no model.
void CheckPartsAndMethods(const v1::QuantizationSpec& quantization, Problems* problems);

// These, and those of rotation, smoothing and kv_cache in the model of a resolved trial with a quantization.
void CheckQuantizationMethods(const v1::TrialSpec& spec, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_QUANTIZATION_METHOD_CHECKS_H_
