#include "tests/core/layer_cuda/place.h"

namespace inlier::layer::gpu {

c10::Device TestDevice() { return c10::kCUDA; }
void ReverseThreads(bool) {}

}  // namespace inlier::layer::gpu
