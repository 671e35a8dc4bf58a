// Adam and AdamW over all parameters in one launch (core/cuda/adam.h); formulas: core/optim/adam.h.
#ifndef INLIER_CORE_LAYER_CUDA_ADAM_H_
#define INLIER_CORE_LAYER_CUDA_ADAM_H_

#include <ATen/core/Tensor.h>

#include <vector>

namespace inlier::layer::gpu {

struct AdamOptions {
  double beta1, beta2, epsilon;
  bool decoupled;  // AdamW; else the decay is added to the gradient.
};

// One parameter with its gradient and moments, float32 and contiguous.
struct AdamItem {
  at::Tensor parameter, gradient, first_moment, second_moment;
  double weight_decay;
};

// True where AdamStep takes the item (its gradient is not looked at).
bool TakesAdam(const AdamItem& item);

// One update in place. numbers (3), float32: learning rate, updates with this one, factor of the gradients.
// stretches: kept by the caller from one call to the next for the same parameters; empty at first.
void AdamStep(const AdamOptions& options, const std::vector<AdamItem>& items, const at::Tensor& numbers,
              at::Tensor& stretches);

}  // namespace inlier::layer::gpu

#endif  // INLIER_CORE_LAYER_CUDA_ADAM_H_
