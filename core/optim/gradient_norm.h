// The global L2 norm of a gradient, and clipping to it.
#ifndef INLIER_CORE_OPTIM_GRADIENT_NORM_H_
#define INLIER_CORE_OPTIM_GRADIENT_NORM_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace inlier {

// The L2 norm over all gradients of `parameters` as one number on their device, without synchronisation.
// Then, with max_norm > 0, scales every gradient in place by min(1, max_norm / (norm + 1e-6)).  Parameters
// without a gradient are skipped.
at::Tensor ClipGradientNorm(const std::vector<at::Tensor>& parameters, double max_norm);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_GRADIENT_NORM_H_
