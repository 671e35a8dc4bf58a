// The fused engine on a GPU: a transformer's layer and the vocabulary's loss (core/layer) over all tokens at once, one
// launch a part.
//
//   products        LibTorch's, of bfloat16; sums and gradients of weights are float32
//   in between      core/cuda: attention, residual sum + dropout + norm, bias + non-linearity
//   rotary, gates   LibTorch's operations
//
// The residual stream, norms and statistics are float32. Dropout's decisions are those of the CPU. A row without a
// visible key has the context 0.
//
// Nothing here waits for the GPU. Where the build has no CUDA (none.cc) nothing lies on a device and every other call
// throws. tests/core/layer_cuda compiles this folder and the kernels for the CPU.
#ifndef INLIER_CORE_LAYER_CUDA_LAYER_H_
#define INLIER_CORE_LAYER_CUDA_LAYER_H_

#include <string>

#include "core/layer/layer.h"
#include "core/layer/vocabulary_loss.h"

namespace inlier::layer::gpu {

// True for a tensor whose part of a fused step this folder computes.
bool Holds(const at::Tensor& x);

// Why no training on the current GPU can take the fused engine; empty where one can.
std::string Obstacle();

// True for a model with layers of these sizes. Its products are of bfloat16.
bool CanFuse(std::int64_t width, std::int64_t heads, std::int64_t kv_heads);

// With float32 inputs and weights on the device, and without a penalty. REQUIRES: CanFuse of the shape's sizes.
Result LayerForward(Call& call);
Gradients LayerBackward(const Call& call, const at::Tensor& y_gradient);

// With float32 inputs on the device: bfloat16 logits of a block of rows at a time, which their gradients replace. The
// gradients still lack the factor VocabularyResult::gradient_factor, so that nothing waits for the number of targets. A
// target that is not below V gives a loss that is NaN.
VocabularyResult ComputeVocabularyLoss(const VocabularyInputs& inputs, bool gradients);

// The factors of kernels::Dropout, float32, of x's shape; row r is row r of all but the last dimension.
at::Tensor DropoutFactors(const kernels::Dropout& dropout, const at::Tensor& x);

}  // namespace inlier::layer::gpu

#endif  // INLIER_CORE_LAYER_CUDA_LAYER_H_
