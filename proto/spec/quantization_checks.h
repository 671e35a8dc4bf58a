// Which parts of a QuantizationSpec have a meaning under its scheme.
#ifndef INLIER_PROTO_SPEC_QUANTIZATION_CHECKS_H_
#define INLIER_PROTO_SPEC_QUANTIZATION_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "proto/spec/problems.h"

namespace inlier {

// Whether anything of it is found by calibration.
bool IsCalibrated(const v1::QuantizationSpec& quantization);

// What is wrong with the quantization of a resolved trial; nothing where it has none.
void CheckQuantization(const v1::TrialSpec& spec, Problems* problems);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_QUANTIZATION_CHECKS_H_
