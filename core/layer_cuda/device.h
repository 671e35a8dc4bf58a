// The fused engine on a GPU: core/layer_cpu with LibTorch's products and the kernels of core/cuda between them.
//
// Where the build has no CUDA (none.cc) nothing lies on a device and every other call throws. tests/core/layer_cuda
// compiles this folder and the kernels for the CPU.
#ifndef INLIER_CORE_LAYER_CUDA_DEVICE_H_
#define INLIER_CORE_LAYER_CUDA_DEVICE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "core/kernels/dropout.h"

namespace inlier::device {

// True for a tensor whose part of a fused step this folder computes.
bool Holds(const at::Tensor& x);

// Why no training on the current GPU can take the fused engine; empty where one can.
std::string Obstacle();

// True for a model with layers of these sizes. Its products are of bfloat16.
bool CanFuse(std::int64_t width, std::int64_t heads, std::int64_t kv_heads);

// The factors of kernels::Dropout, float32, of x's shape; row r is row r of all but the last dimension.
at::Tensor DropoutFactors(const kernels::Dropout& dropout, const at::Tensor& x);

}  // namespace inlier::device

#endif  // INLIER_CORE_LAYER_CUDA_DEVICE_H_
