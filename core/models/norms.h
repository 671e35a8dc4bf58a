// The norms of the residual stream, each by its value of NormKind. A new one is a function and a case in norms.cc
// (docs/guides/add-a-softmax.md, "A norm").
#ifndef INLIER_CORE_MODELS_NORMS_H_
#define INLIER_CORE_MODELS_NORMS_H_

#include "core/nn/norms.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// norm and norm_gate of `spec`, with the settings of that norm.
NormOptions NormFromSpec(const v1::TrialSpec& spec, double epsilon);

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_NORMS_H_
