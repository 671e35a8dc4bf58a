// Adam and AdamW over all parameters in one launch; formulas and sources: core/optim/adam.h.
//
// The learning rate, the number of updates and the gradients' scale are read from device memory, so that a step can be
// captured in a CUDA graph once and replayed with other numbers.
#ifndef INLIER_CORE_CUDA_ADAM_H_
#define INLIER_CORE_CUDA_ADAM_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "core/kernels/element.h"

namespace inlier::cuda {

// One parameter of `size` contiguous elements; G: float or kernels::Bf16. Device memory.
template <typename G>
struct AdamParameter {
  float *p, *m, *v;
  const G* g;
  kernels::Bf16* copy;  // p as bfloat16, written after the update; null for none.
  std::int64_t size;
  float weight_decay;  // 0 where weights do not decay.
};

// A stretch of kAdamElements elements of one parameter, the work of a block.
inline constexpr std::int64_t kAdamElements = 4096;
struct AdamBlock {
  std::int32_t parameter;
  std::int32_t stretch;
};
// Of parameters of these sizes. The caller keeps a copy in device memory.
std::vector<AdamBlock> AdamBlocks(const std::vector<std::int64_t>& sizes);

struct AdamNumbers {  // In device memory.
  float learning_rate;
  float updates;         // t, this one included; at least 1.
  float gradient_scale;  // Gradients are multiplied with it: 1 / loss scale, or of clipping.
};

struct AdamOptions {
  double beta1, beta2, epsilon;
  bool decoupled;  // AdamW; else the decay is added to the gradient.
};

// parameters, blocks (count) and numbers are of device memory. Returns before the kernel has run; the launch's error. No
// blocks: nothing to do.
template <typename G>
cudaError_t AdamStep(const AdamOptions& options, const AdamParameter<G>* parameters, const AdamBlock* blocks,
                     std::int64_t count, const AdamNumbers* numbers, cudaStream_t stream);

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_ADAM_H_
