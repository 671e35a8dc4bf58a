// Shared by the two kernels of attention's gradient. Inside .cu files only.
#ifndef INLIER_CORE_CUDA_ATTENTION_BACKWARD_CUH_
#define INLIER_CORE_CUDA_ATTENTION_BACKWARD_CUH_

#include "core/cuda/attention_tile.cuh"

namespace inlier::cuda {

struct AttentionOperands {
  Heads<const Bf16> q, k, v;
  const float* statistics;
  AttentionGradients gradients;
};

// Gradients of keys and values, once gradients.row_sums are there.
cudaError_t StartKeyGradient(const AttentionShape& shape, const AttentionOperands& operands,
                             cudaStream_t stream);

// False where the clip to [0, 1] stops the gradient. NaN is not inside.
__device__ inline bool IsInside(float x) { return x >= 0 && x <= 1; }

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_ATTENTION_BACKWARD_CUH_
