// exp, erf and the logistic function as code without branches, which the compiler vectorises. The float forms
// are within 3 units in the last place; NaN stays NaN. The double forms are the standard library's, and slow.
#ifndef INLIER_CORE_KERNELS_VECTOR_MATH_H_
#define INLIER_CORE_KERNELS_VECTOR_MATH_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/kernels/element.h"

namespace inlier::kernels {

// 0 below -87.3 (the results would be denormal), infinity above 88.7.
INLIER_INLINE float Exp(float x) {
  constexpr float kSmallest = -87.336544f, kLargest = 88.722839f;
  constexpr float kRound = 0x1.8p23f;  // Added to a number, leaves its nearest integer in the low bits.
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  // r = x - n ln 2, with ln 2 in two parts, of which the first times n is exact.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // Times 2^n: n is added to the exponent.
  const float y =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + (std::bit_cast<std::uint32_t>(shifted) << 23));
  const float high = x <= kLargest ? y : x * std::numeric_limits<float>::infinity();
  return x < kSmallest ? 0.0f : high;
}
INLIER_INLINE double Exp(double x) { return std::exp(x); }

INLIER_INLINE float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }
INLIER_INLINE double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The logistic function s and its slope s (1 - s), the latter without the loss of digits of 1 - s.
template <typename R>
struct SigmoidSlope {
  R value, slope;
};
template <typename R>
INLIER_INLINE SigmoidSlope<R> SigmoidWithSlope(R x) {
  const R e = Exp(x < 0 ? x : -x);
  const R small = e / (1 + e);  // The logistic function of -|x|.
  const R large = 1 / (1 + e);
  return {x < 0 ? small : large, small * large};
}

INLIER_INLINE float Erf(float x) {
  const float t = std::fabs(x);
  const float s = x * x;
  // Near 0: x + x p(x^2).
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s - 2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s - 3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  p = p * x + x;
  // Else 1 - exp(q(|x|)).
  float q = -1.72853470e-5f * t + 3.83197126e-4f;
  q = q * s + (-3.88396438e-3f * t + 2.42546219e-2f);
  q = q * t - 1.06777877e-1f;
  q = q * t - 6.34846687e-1f;
  q = q * t - 1.28717512e-1f;
  q = q * t - t;
  return t > 0.927734375f ? std::copysign(1.0f - Exp(q), x) : p;
}
INLIER_INLINE double Erf(double x) { return std::erf(x); }

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_VECTOR_MATH_H_
