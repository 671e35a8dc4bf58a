// A transformer's layer on a GPU: the passes of core/layer_cpu/layer.h over all tokens at once, one launch a part.
//
//   products        LibTorch's, of bfloat16; sums and gradients of weights are float32
//   in between      core/cuda: attention, residual sum + dropout + norm, bias + non-linearity
//   rotary, gates   LibTorch's operations
//
// The residual stream, norms and statistics are float32. Dropout's decisions are those of the CPU. A row without a
// visible key has the context 0.
//
// Nothing here waits for the GPU.
#ifndef INLIER_CORE_LAYER_CUDA_LAYER_H_
#define INLIER_CORE_LAYER_CUDA_LAYER_H_

#include "core/layer_cpu/layer.h"

namespace inlier::device {

// As fused::LayerForward and LayerBackward, with float32 inputs and weights on the device.
// REQUIRES: CanFuse of the shape's sizes.
at::Tensor LayerForward(const fused::LayerShape& shape, const fused::LayerWeights& weights,
                        const fused::LayerInputs& inputs, fused::LayerSaved& saved);
fused::LayerGradients LayerBackward(const fused::LayerShape& shape, const fused::LayerWeights& weights,
                                    const fused::LayerInputs& inputs, const fused::LayerSaved& saved,
                                    const at::Tensor& y_gradient);

}  // namespace inlier::device

#endif  // INLIER_CORE_LAYER_CUDA_LAYER_H_
