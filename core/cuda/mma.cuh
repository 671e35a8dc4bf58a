// Products of bfloat16 with sums in float32 on tensor cores: the one wrapper of PTX's mma.sync.m16n8k16 (PTX ISA,
// "Matrix Fragments for mma.m16n8k16 with floating point type").
//
// A warp computes d (16, 8) += a (16, 16) b (16, 8). With g = lane / 4 and q = lane % 4, a lane holds
//   a[0]: row g, columns 2q, 2q + 1     a[1]: row g + 8, the same     a[2], a[3]: the same, columns + 8
//   b0: column g, rows 2q, 2q + 1       b1: the same, rows + 8
//   d[0], d[1]: row g, columns 2q, 2q + 1       d[2], d[3]: row g + 8
// The lower index is in a word's low half.
#ifndef INLIER_CORE_CUDA_MMA_CUH_
#define INLIER_CORE_CUDA_MMA_CUH_

#include "core/cuda/device.cuh"

namespace inlier::cuda {

// REQUIRES: all lanes of the warp call.
__device__ inline void MultiplyAdd(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                   std::uint32_t b1) {
#if defined(__CUDACC__)
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  on_cpu::MultiplyAdd(d, a, b0, b1);
#endif
}

// Two floats as bfloat16 in one word, `low` in the low half; to the nearest, ties to even.
__device__ inline std::uint32_t Pack(float low, float high) {
#if defined(__CUDACC__)
  std::uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return FromFloat<Bf16>(low).bits | static_cast<std::uint32_t>(FromFloat<Bf16>(high).bits) << 16;
#endif
}

}  // namespace inlier::cuda

#endif  // INLIER_CORE_CUDA_MMA_CUH_
