// Parts that the kernels share: numbers, sums over a block, dropout, launches. Inside .cu files only.
//
// The sources name no launch brackets and no dynamic `extern` array, so that a C++ compiler can translate them, too:
// tests/core/cuda/on_cpu runs them on a CPU.
#ifndef INLIER_CORE_CUDA_DEVICE_CUH_
#define INLIER_CORE_CUDA_DEVICE_CUH_

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "core/kernels/dropout.h"
#include "core/kernels/element.h"

namespace inlier::cuda {

using kernels::Bf16;

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// The shared memory that a launch asks for, aligned to 16 bytes.
__device__ inline unsigned char* DynamicShared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  return dynamic_shared;
#else
  return on_cpu::dynamic_shared;
#endif
}

__device__ inline float ToFloat(float x) { return x; }
__device__ inline float ToFloat(Bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }

// To the nearest, ties to even; NaN stays NaN.
template <typename T>
__device__ inline T FromFloat(float x) {
  return x;
}
template <>
__device__ inline Bf16 FromFloat<Bf16>(float x) {
  const unsigned bits = __float_as_uint(x);
  const unsigned rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return {static_cast<std::uint16_t>(x != x ? 0x7fc0u : rounded)};
}

// The sum of every thread's `value`, on all threads, in an order that only the block's size decides.
// REQUIRES: all threads call; at most 1024 threads, whole warps.
__device__ inline float BlockSum(float value) {
  __shared__ float of_warp[kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  __syncthreads();  // The last call's sums are read.
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  float sum = 0;
  for (unsigned i = 0; i < blockDim.x / kWarp; ++i) sum += of_warp[i];
  return sum;
}

__device__ inline float BlockMax(float value) {
  __shared__ float of_warp[kWarp];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  __syncthreads();
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  float largest = of_warp[0];
  for (unsigned i = 1; i < blockDim.x / kWarp; ++i) largest = fmaxf(largest, of_warp[i]);
  return largest;
}

// kernels::Dropout as a kernel takes it.
struct DropoutKey {
  std::uint32_t key_low, key_high, site;
  std::uint32_t threshold;  // Of 16 random bits: below it an element is dropped. 0: no dropout.
  float scale;
};

inline DropoutKey KeyOf(const kernels::Dropout& dropout) {
  const std::uint32_t threshold =
      dropout.active() ? static_cast<std::uint32_t>(std::lround(dropout.probability * 65536)) : 0;
  return {static_cast<std::uint32_t>(dropout.seed), static_cast<std::uint32_t>(dropout.seed >> 32),
          dropout.site, threshold, static_cast<float>(1 / (1 - threshold / 65536.0))};
}

// The decisions of core/kernels/dropout_block.h: bit j is set where column 128 (counter / 16) + 16 j + counter % 16 of
// the row is kept.
__device__ inline std::uint32_t KeptBits(const DropoutKey& dropout, std::uint64_t row,
                                         std::uint32_t counter) {
  std::uint32_t a = counter, b = static_cast<std::uint32_t>(row), c = static_cast<std::uint32_t>(row >> 32),
                d = dropout.site, low = dropout.key_low, high = dropout.key_high;
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const std::uint32_t first_high = __umulhi(0xD2511F53u, a), first_low = 0xD2511F53u * a;
    const std::uint32_t second_high = __umulhi(0xCD9E8D57u, c), second_low = 0xCD9E8D57u * c;
    a = second_high ^ b ^ low;
    b = second_low;
    c = first_high ^ d ^ high;
    d = first_low;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  const std::uint32_t words[4] = {a, b, c, d};
  std::uint32_t kept = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    kept |= ((words[i] & 0xffff) >= dropout.threshold ? 1u : 0u) << (2 * i);
    kept |= ((words[i] >> 16) >= dropout.threshold ? 1u : 0u) << (2 * i + 1);
  }
  return kept;
}

// Parts of a row that ForColumns shares out among a block's threads.
__host__ __device__ constexpr int ColumnItems(int width) { return (width + 127) / 128 * 16; }

// use(column, factor) for this thread's columns of a row; the block's threads share the row out, always in the same
// way. Sixteen threads take one dropout block of 128 columns.
template <typename Use>
__device__ inline void ForColumns(int width, const DropoutKey& dropout, std::uint64_t row, Use use) {
  const int items = ColumnItems(width);
  for (int item = static_cast<int>(threadIdx.x); item < items; item += static_cast<int>(blockDim.x)) {
    const std::uint32_t kept = dropout.threshold == 0 ? 0xff : KeptBits(dropout, row, item);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const int column = item / 16 * 128 + j * 16 + item % 16;
      if (column < width) use(column, (kept >> j & 1) != 0 ? dropout.scale : 0.0f);
    }
  }
}

// Starts kernel(arguments...). More than 48 KiB of shared memory are asked for first.
template <typename... Parameters, typename... Arguments>
cudaError_t Launch(void (*kernel)(Parameters...), dim3 grid, int threads, std::size_t shared_bytes,
                   cudaStream_t stream, Arguments... arguments) {
  if (shared_bytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(shared_bytes));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_DEVICE_CUH_
