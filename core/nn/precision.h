// Computations that need float32 even under autocast.
#ifndef INLIER_CORE_NN_PRECISION_H_
#define INLIER_CORE_NN_PRECISION_H_

#include <ATen/core/Tensor.h>

namespace inlier {

// x itself, or widened to float32 when it is float16 or bfloat16.
inline at::Tensor AtLeastFloat32(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf ? x.to(at::kFloat) : x;
}

}  // namespace inlier

#endif  // INLIER_CORE_NN_PRECISION_H_
