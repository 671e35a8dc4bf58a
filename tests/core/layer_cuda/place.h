// Where these tests run: on the CPU in the place of a GPU (on_cpu.cc), or on a GPU (on_gpu.cc).
#ifndef INLIER_TESTS_CORE_LAYER_CUDA_PLACE_H_
#define INLIER_TESTS_CORE_LAYER_CUDA_PLACE_H_

#include <c10/core/Device.h>

namespace inlier::layer::gpu {

c10::Device TestDevice();

// True where tensors of TestDevice() lie on a GPU.
inline bool OnGpu() { return TestDevice().is_cuda(); }

// On the CPU: kernels run their blocks and threads from the last to the first.
void ReverseThreads(bool reversed);

// While it exists, tensors of TestDevice() lie on the device.
class OnDevice {
 public:
  OnDevice() { on_ = true; }
  ~OnDevice() { on_ = false; }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  static bool on() { return on_; }

 private:
  static inline bool on_ = false;
};

}  // namespace inlier::layer::gpu

#endif  // INLIER_TESTS_CORE_LAYER_CUDA_PLACE_H_
