// A layer of the fused engine, of core/layer_cpu or on a GPU of core/layer_cuda, as one node of the autograd graph.
#ifndef INLIER_CORE_NN_FUSED_LAYER_H_
#define INLIER_CORE_NN_FUSED_LAYER_H_

#include "core/layer/layer.h"

namespace inlier {

// REQUIRES: products are not kReference; tensors on the CPU, in float32, or in double with kFloat32; or on a GPU, in
// float32 with kBfloat16, of a shape that core/layer_cuda takes, without a penalty.
layer::Result FusedLayer(layer::Call call);

}  // namespace inlier

#endif  // INLIER_CORE_NN_FUSED_LAYER_H_
