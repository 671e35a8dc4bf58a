#include "core/layer_cuda/launch.h"
#include "tests/core/layer_cuda/place.h"

namespace inlier::layer::gpu {

bool Holds(const at::Tensor&) { return OnDevice::on(); }
cudaStream_t StreamOf(const at::Tensor&) { return nullptr; }
std::string Obstacle() { return ""; }

c10::Device TestDevice() { return c10::kCPU; }
void ReverseThreads(bool reversed) {
  on_cpu::order = reversed ? on_cpu::Order::kReversed : on_cpu::Order::kForward;
}

}  // namespace inlier::layer::gpu
