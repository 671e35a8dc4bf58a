// The numbers that kernels work on. A product's operands are of one type T: float, bfloat16 or double; everything
// else (sums, norms, softmax, the residual stream) is of Real<T>: float, float or double.
#ifndef INLIER_CORE_KERNELS_ELEMENT_H_
#define INLIER_CORE_KERNELS_ELEMENT_H_

#include <bit>
#include <cstdint>

// On the definition of a kernel: compiled for each of these processors, the best one is chosen when the program
// starts. What it calls is inlined or of no weight.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define INLIER_KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define INLIER_KERNEL
#endif
// On functions and lambdas of a kernel: inlined, so compiled for each of its processors.
#define INLIER_INLINE __attribute__((always_inline)) inline
#define INLIER_LAMBDA __attribute__((always_inline))

namespace inlier::kernels {

// The upper half of a float; the layout of c10::BFloat16.
struct Bf16 {
  std::uint16_t bits;
};

template <typename T>
struct RealOf {
  using Type = T;
};
template <>
struct RealOf<Bf16> {
  using Type = float;
};
template <typename T>
using Real = typename RealOf<T>::Type;

inline float ToReal(Bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
inline float ToReal(float x) { return x; }
inline double ToReal(double x) { return x; }

// To the nearest, ties to even; NaN stays NaN.
template <typename T>
inline T ToElement(Real<T> x) {
  return x;
}
template <>
inline Bf16 ToElement<Bf16>(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return {static_cast<std::uint16_t>(x != x ? 0x7fc0u : rounded)};
}

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_ELEMENT_H_
