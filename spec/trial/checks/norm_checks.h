// Checks of the norms and of the embedding's projections against the model.
#ifndef INLIER_SPEC_TRIAL_CHECKS_NORM_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_NORM_CHECKS_H_

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Adds the problems of dyt_alpha, norm_gate and embedding_projection. REQUIRES: `resolved` is resolved.
void CheckNorms(const v1::TrialSpec& resolved, Problems* problems);

// LAYER_NORM, RMS_NORM_M and RMS_NORM_S, which the fused engine and exports have; others are of LibTorch's operations alone.
bool IsCommonNorm(v1::NormKind norm);

// norm_placement of the architecture; POST where there is none.
v1::NormPlacement NormPlacementOf(const v1::ModelSpec& model);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_NORM_CHECKS_H_
