// The quantization of the curves of training.measure_quantized_every.
#ifndef INLIER_SPEC_TRIAL_QUANTIZED_CURVE_H_
#define INLIER_SPEC_TRIAL_QUANTIZED_CURVE_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// The same as a trial's own `quantization`: an evaluation with it on the same batches gives the curve's last point.
v1::QuantizationSpec CurveQuantization(const v1::TrialSpec& spec);

// Adds the problems of the curves of a resolved trial.
void CheckQuantizedCurve(const v1::TrialSpec& spec, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_QUANTIZED_CURVE_H_
