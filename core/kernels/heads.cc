#include "core/kernels/heads.h"

namespace inlier::kernels {
namespace {

template <typename T>
__attribute__((always_inline)) inline void StoreHeadOf(std::int64_t rows, std::int64_t width,
                                                       const Real<T>* o, const HeadGate<T>& gate, T* raw,
                                                       T* out, std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const Real<T>* from = o + r * width;
    if (raw != nullptr) {
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) raw[r * stride + c] = ToElement<T>(from[c]);
    }
    if (gate.by_element) {
      const Real<T>* factors = gate.factors + r * width;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) out[r * stride + c] = ToElement<T>(from[c] * factors[c]);
      continue;
    }
    const Real<T> factor = gate.factors == nullptr ? Real<T>{1} : gate.factors[r];
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) out[r * stride + c] = ToElement<T>(from[c] * factor);
  }
}

template <typename T>
__attribute__((always_inline)) inline void GateBackwardOf(std::int64_t rows, std::int64_t width,
                                                          const T* out_gradient, const HeadGate<T>& gate,
                                                          const T* raw, T* o_gradient, Real<T>* gate_gradient,
                                                          std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* from = out_gradient + r * stride;
    const T* o = raw + r * stride;
    T* to = o_gradient + r * stride;
    if (gate.by_element) {
      const Real<T>* factors = gate.factors + r * width;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) {
        const Real<T> g = ToReal(from[c]);
        gate_gradient[r * width + c] = g * ToReal(o[c]);
        to[c] = ToElement<T>(g * factors[c]);
      }
      continue;
    }
    const Real<T> factor = gate.factors[r];
    Real<T> sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < width; ++c) {
      const Real<T> g = ToReal(from[c]);
      sum += g * ToReal(o[c]);
      to[c] = ToElement<T>(g * factor);
    }
    gate_gradient[r] = sum;
  }
}

template <typename T>
__attribute__((always_inline)) inline void RotateHeadsOf(std::int64_t rows, std::int64_t first,
                                                         std::int64_t tokens, std::int64_t heads,
                                                         std::int64_t size, const Real<T>* cosine,
                                                         const Real<T>* sine, bool inverse, T* x,
                                                         std::int64_t stride) {
  const std::int64_t half = size / 2;
  const Real<T> sign = inverse ? -1 : 1;
  for (std::int64_t r = 0; r < rows; ++r) {
    const Real<T>* c = cosine + (first + r) % tokens * half;
    const Real<T>* s = sine + (first + r) % tokens * half;
    for (std::int64_t head = 0; head < heads; ++head) {
      T* u = x + r * stride + head * size;
#pragma omp simd
      for (std::int64_t i = 0; i < half; ++i) {
        const Real<T> a = ToReal(u[i]), b = ToReal(u[half + i]);
        u[i] = ToElement<T>(a * c[i] - sign * b * s[i]);
        u[half + i] = ToElement<T>(b * c[i] + sign * a * s[i]);
      }
    }
  }
}

template <typename T>
__attribute__((always_inline)) inline void AddHeadOf(std::int64_t rows, std::int64_t width, T* a, const T* b,
                                                     std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c)
      a[r * stride + c] = ToElement<T>(ToReal(a[r * stride + c]) + ToReal(b[r * stride + c]));
  }
}

}  // namespace

#define INLIER_HEADS(T)                                                                             \
  template <>                                                                                       \
  INLIER_KERNEL void StoreHead<T>(std::int64_t rows, std::int64_t width, const Real<T>* o,          \
                                  const HeadGate<T>& gate, T* raw, T* out, std::int64_t stride) {   \
    StoreHeadOf<T>(rows, width, o, gate, raw, out, stride);                                         \
  }                                                                                                 \
  template <>                                                                                       \
  INLIER_KERNEL void GateBackward<T>(std::int64_t rows, std::int64_t width, const T* out_gradient,  \
                                     const HeadGate<T>& gate, const T* raw, T* o_gradient,          \
                                     Real<T>* gate_gradient, std::int64_t stride) {                 \
    GateBackwardOf<T>(rows, width, out_gradient, gate, raw, o_gradient, gate_gradient, stride);     \
  }                                                                                                 \
  template <>                                                                                       \
  INLIER_KERNEL void RotateHeads<T>(std::int64_t rows, std::int64_t first, std::int64_t tokens,     \
                                    std::int64_t heads, std::int64_t size, const Real<T>* cosine,   \
                                    const Real<T>* sine, bool inverse, T* x, std::int64_t stride) { \
    RotateHeadsOf<T>(rows, first, tokens, heads, size, cosine, sine, inverse, x, stride);           \
  }                                                                                                 \
  template <>                                                                                       \
  INLIER_KERNEL void AddHead<T>(std::int64_t rows, std::int64_t width, T * a, const T* b,           \
                                std::int64_t stride) {                                              \
    AddHeadOf<T>(rows, width, a, b, stride);                                                        \
  }
INLIER_HEADS(float)
INLIER_HEADS(double)
INLIER_HEADS(Bf16)

}  // namespace inlier::kernels
