// Grids of numbers of the weights that write the residual stream out of each layer's feed-forward network (its second
// linear), and of the optimizer that trained them.   (Kaul et al. 2025, appendices E and F)
#ifndef INLIER_CORE_TRIAL_WEIGHT_NUMBERS_H_
#define INLIER_CORE_TRIAL_WEIGHT_NUMBERS_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "absl/status/statusor.h"
#include "core/models/model.h"
#include "core/train/checkpoint.h"
#include "core/trial/number_grid.h"

namespace inlier {

// A row a layer, a column a hidden dimension: the 2-norm of the weights that write it.
absl::StatusOr<Json> WeightNorms(const Model& model);

// The same of the sum of the second moments of these weights after the last update, over the layer's mean; in the
// optimizer's basis where it has one. `of` has the correlation r with the norms where both are in one basis.
// InvalidArgument where the checkpoint has none.
absl::StatusOr<Json> SecondMoments(const Checkpoint& checkpoint, const Model& model);

// X, the outputs of the layers, (tokens, d) each, in four bases: X as it is, X Q^T and X Q with the matrix Q by which
// OrthoAdam turned the gradient of the layer's weights, and X V with another orthogonal matrix. A row a basis, a column a
// layer: the mean over tokens of their kurtosis (core/outliers/token_metrics.h). InvalidArgument: no such Q.
absl::StatusOr<Json> KurtosisByBasis(const v1::TrialSpec& spec, const Model& model,
                                     const std::vector<at::Tensor>& outputs);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_WEIGHT_NUMBERS_H_
