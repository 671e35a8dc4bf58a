// A norm by the fused engine's kernels as one node of the autograd graph; no result depends on the number of threads.
#ifndef INLIER_CORE_NN_FUSED_NORM_H_
#define INLIER_CORE_NN_FUSED_NORM_H_

#include <ATen/core/Tensor.h>

#include "core/kernels/rows.h"

namespace inlier {

// x (..., d), gain and offset as in Norm (core/nn/norms.h); all float32, or all double, on the CPU.
at::Tensor FusedNorm(const at::Tensor& x, kernels::NormKind kind, double epsilon, const at::Tensor& gain,
                     const at::Tensor& offset);

}  // namespace inlier

#endif  // INLIER_CORE_NN_FUSED_NORM_H_
