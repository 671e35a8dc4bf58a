// Between tensors and the launchers of core/cuda.
#ifndef INLIER_CORE_LAYER_CUDA_LAUNCH_H_
#define INLIER_CORE_LAYER_CUDA_LAUNCH_H_

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

#include "core/layer_cuda/layer.h"

namespace inlier::layer::gpu {

// The stream on which LibTorch works on x's device.
cudaStream_t StreamOf(const at::Tensor& x);

// Throws c10::Error when a launch failed.
inline void Check(cudaError_t error, const char* what) {
  TORCH_CHECK(error == cudaSuccess, "CUDA error ", static_cast<int>(error), " at the launch of ", what);
}

}  // namespace inlier::layer::gpu

#endif  // INLIER_CORE_LAYER_CUDA_LAUNCH_H_
