// Cross-entropy over many classes on a GPU: the mathematics of core/kernels/cross_entropy.h, a block a row.
#ifndef INLIER_CORE_CUDA_CROSS_ENTROPY_H_
#define INLIER_CORE_CUDA_CROSS_ENTROPY_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/kernels/element.h"

namespace inlier::cuda {

struct CrossEntropyRows {
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  std::int64_t stride = 0;      // Between rows of logits, in elements.
  const float* bias = nullptr;  // (classes), added to the logits; null for none.
  // (rows); a negative one is ignored, one not below `classes` gives NaN.
  const std::int64_t* targets = nullptr;
  float label_smoothing = 0;  // e: (1 - e) * cross-entropy + e * the mean over classes of -log p.
  float gradient_scale = 1;
};

// losses (rows) and log_sums (rows; log-sum-exp, may be null), 0 for ignored rows. With `with_gradient` the logits
// (rows, classes) are overwritten by their gradients times gradient_scale, which are also those of the bias, by row; 0 for
// ignored rows. T: float or kernels::Bf16. Pointers are of device memory; cudaErrorInvalidValue without rows or classes.
template <typename T>
cudaError_t CrossEntropy(const CrossEntropyRows& call, T* logits, float* losses, float* log_sums,
                         bool with_gradient, cudaStream_t stream);

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_CROSS_ENTROPY_H_
