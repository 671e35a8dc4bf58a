// core/layer_cpu/layer.h, on a GPU core/layer_cuda/layer.h, as one node of the autograd graph.
#ifndef INLIER_CORE_NN_FUSED_LAYER_H_
#define INLIER_CORE_NN_FUSED_LAYER_H_

#include "core/layer_cpu/layer.h"
#include "core/layer_cpu/precision.h"

namespace inlier {

// REQUIRES: products is not kReference; tensors on the CPU, in float32, or in double with kFloat32; or on a GPU, in
// float32 with kBfloat16, of a shape that core/layer_cuda takes, without a penalty.
fused::LayerResult FusedLayer(const fused::LayerShape& shape, const fused::LayerWeights& weights,
                              const fused::LayerInputs& inputs, fused::Products products);

}  // namespace inlier

#endif  // INLIER_CORE_NN_FUSED_LAYER_H_
