// The part of CUDA's runtime that core/cuda uses, on a CPU: the kernels' sources are compiled by a C++ compiler and
// their logic is tested without a GPU.
//
// A block's threads are fibers of one thread of the system, which switch at barriers, shuffles and tensor-core products.
// Blocks run one after another. Order::kReversed runs blocks and threads from the last to the first: a kernel that
// lacks a barrier, or whose result depends on the order of blocks, gives other bits then. Shared
// memory that a launch asks for holds NaN when a block starts. A barrier that some threads never reach, or a collective of part of a warp, ends the program.
#ifndef INLIER_TESTS_CORE_CUDA_ON_CPU_CUDA_RUNTIME_API_H_
#define INLIER_TESTS_CORE_CUDA_ON_CPU_CUDA_RUNTIME_API_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __restrict__ __restrict

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
using cudaStream_t = struct CUstream_st*;

struct uint3 {
  unsigned x, y, z;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
};

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

namespace on_cpu {

enum class Order { kForward, kReversed };
inline Order order = Order::kForward;
inline std::size_t shared_limit = 160 * 1024;  // Of a launch; sm_80 has 163 KiB, static arrays included.
alignas(16) inline unsigned char dynamic_shared[160 * 1024];

void Barrier();
// The value of another lane of the warp. Every lane calls.
std::uint32_t Shuffle(std::uint32_t value, int source);
// Bit i: the value of lane i.
std::uint32_t Ballot(bool value);
void MultiplyAdd(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
// Runs every thread of every block.
void Run(const cudaLaunchConfig_t& config, const std::function<void()>& thread);

}  // namespace on_cpu

inline void __syncthreads() { on_cpu::Barrier(); }
inline void __syncwarp() { on_cpu::Ballot(true); }
inline float __shfl_xor_sync(unsigned, float value, int mask) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  return std::bit_cast<float>(on_cpu::Shuffle(std::bit_cast<std::uint32_t>(value), lane ^ mask));
}
inline unsigned __ballot_sync(unsigned, bool value) { return on_cpu::Ballot(value); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline int min(int a, int b) { return a < b ? a : b; }
inline float __expf(float x) { return std::exp(x); }

template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int bytes) {
  return static_cast<std::size_t>(bytes) <= on_cpu::shared_limit ? cudaSuccess : cudaErrorInvalidValue;
}
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments... arguments) {
  if (config->dynamicSmemBytes > on_cpu::shared_limit) return cudaErrorInvalidValue;
  on_cpu::Run(*config, [=] { kernel(arguments...); });
  return cudaSuccess;
}

#endif  // INLIER_TESTS_CORE_CUDA_ON_CPU_CUDA_RUNTIME_API_H_
