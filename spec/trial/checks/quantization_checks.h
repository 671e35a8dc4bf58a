// Checks which parts of a QuantizationSpec have a meaning under its scheme.
#ifndef INLIER_SPEC_TRIAL_CHECKS_QUANTIZATION_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_QUANTIZATION_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// True when it has weights, activations or a cache to round.
bool QuantizesAnything(const v1::QuantizationSpec& quantization);
// The problem of one without these.
inline constexpr char kNothingToQuantize[] =
    "has nothing to quantize; give weights, activations or kv_cache, for example {weights: {bits: 8}, "
    "activations: {bits: 8}}";

// True when calibration batches find any of its ranges, or statistics of inputs that its methods need.
bool IsCalibrated(const v1::QuantizationSpec& quantization);

// Problems with the quantization of a resolved trial, and with the settings of its evaluation that need one.
void CheckQuantization(const v1::TrialSpec& spec, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_QUANTIZATION_CHECKS_H_
