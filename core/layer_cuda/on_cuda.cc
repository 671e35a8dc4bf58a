#include <c10/cuda/CUDAStream.h>

#include "core/layer_cuda/launch.h"

namespace inlier::layer::gpu {

bool Holds(const at::Tensor& x) { return x.is_cuda(); }

cudaStream_t StreamOf(const at::Tensor& x) {
  return c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
}

std::string Obstacle() {
  constexpr int kOldest = 8;  // Tensor cores with bfloat16.
  int device = 0, major = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) {
    return "no GPU answers";
  }
  return major >= kOldest ? "" : "the fused engine needs a GPU of compute capability 8.0";
}

}  // namespace inlier::layer::gpu
