// Settings of this process: threads, memory, devices, and their names.
//
// Thread safety: call SetUpRuntime once, before any tensor is made.
#ifndef INLIER_CORE_TRIAL_RUNTIME_H_
#define INLIER_CORE_TRIAL_RUNTIME_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

// Sets the number of CPU threads of LibTorch; keeps freed memory in the process (returning it to the system
// between steps costs a CPU training a fifth of its speed); treats denormal numbers as 0; asks for
// deterministic kernels where there is a choice. Binds the process to `cpus`, if there are any: here and not before its
// start, because OpenMP's threads wait for each other in the kernel, not in a loop, when there are more of them than the
// CPUs that the process was started on, and a training may borrow CPUs later. REQUIRES: threads >= 1.
void SetUpRuntime(int threads, const std::vector<int>& cpus = {});

// "cpu", "cuda" or "cuda:<index>". InvalidArgument for another word; Unavailable when this LibTorch or this
// machine has no such device.
absl::StatusOr<c10::Device> ParseDevice(const std::string& text);

// "cpu", or the GPU's name, for example "NVIDIA H100".
std::string DeviceName(c10::Device device);

// Largest number of MiB of the first visible GPU that this process has held in tensors and their cache; 0 on
// the CPU and where nothing was held.
std::uint64_t PeakGpuMemoryMib();

// "2.13.0"; "12.8", or "" when this LibTorch has no CUDA.
std::string TorchVersion();
std::string CudaVersion();

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_RUNTIME_H_
