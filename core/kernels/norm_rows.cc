#include <cmath>

#include "core/kernels/rows.h"

namespace inlier::kernels {
namespace {

template <typename R>
struct TwoSums {
  R first, second;
};

// The sums of first(i) and of second(i), i < n; four partial ones each, so that one addition need not wait for
// another.
template <typename R, typename First, typename Second>
INLIER_INLINE TwoSums<R> SumTwo(std::int64_t n, First first, Second second) {
  const std::int64_t quarter = n / 4;
  R a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
#pragma omp simd reduction(+ : a0, a1, a2, a3, b0, b1, b2, b3)
  for (std::int64_t i = 0; i < quarter; ++i) {
    a0 += first(i);
    b0 += second(i);
    a1 += first(quarter + i);
    b1 += second(quarter + i);
    a2 += first(2 * quarter + i);
    b2 += second(2 * quarter + i);
    a3 += first(3 * quarter + i);
    b3 += second(3 * quarter + i);
  }
  for (std::int64_t i = 4 * quarter; i < n; ++i) {
    a0 += first(i);
    b0 += second(i);
  }
  return {(a0 + a1) + (a2 + a3), (b0 + b1) + (b2 + b3)};
}

template <typename R, typename Term>
INLIER_INLINE R Sum(std::int64_t n, Term term) {
  return SumTwo<R>(n, term, [](std::int64_t) INLIER_LAMBDA { return R{0}; }).first;
}

template <NormKind kind, typename T>
INLIER_INLINE void ForwardOf(const NormWeights<Real<T>>& norm, std::int64_t rows, std::int64_t width,
                             const Real<T>* x, Real<T>* y, T* operand, Real<T>* mean, Real<T>* inverse) {
  using R = Real<T>;
  const R* gain = norm.gain;
  const R* offset = norm.offset;
  for (std::int64_t row = 0; row < rows; ++row) {
    const R* from = x + row * width;
    R center = 0;
    if constexpr (kind == NormKind::kLayerNorm) {
      center = Sum<R>(width, [=](std::int64_t c) INLIER_LAMBDA { return from[c]; }) / width;
    }
    const R squares = Sum<R>(width, [=](std::int64_t c) INLIER_LAMBDA {
      const R d = from[c] - center;
      return d * d;
    });
    const R scale = 1 / std::sqrt(squares / width + norm.epsilon);
    mean[row] = center;
    inverse[row] = scale;
    const R single = gain[0];
    const auto value = [=](std::int64_t c) INLIER_LAMBDA {
      const R normal = (from[c] - center) * scale;
      if constexpr (kind == NormKind::kLayerNorm) return normal * gain[c] + offset[c];
      if constexpr (kind == NormKind::kRmsPerChannel) return normal * gain[c];
      return normal * single;
    };
    if (operand != nullptr) {
      T* to = operand + row * width;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) to[c] = ToElement<T>(value(c));
    }
    if (y != nullptr) {
      R* to = y + row * width;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) to[c] = value(c);
    }
  }
}

// With n = (x - mean) inverse and g = dy gain: dx = inverse (g - mean(g) - n mean(g n)), without mean(g) for the RMS
// norms.
template <NormKind kind, typename R>
INLIER_INLINE void BackwardOf(const NormWeights<R>& norm, std::int64_t rows, std::int64_t width, const R* x,
                              const R* mean, const R* inverse, const R* dy, R* dx, R* gain_gradient,
                              R* offset_gradient) {
  const R* gain = norm.gain;
  for (std::int64_t row = 0; row < rows; ++row) {
    const R* from = x + row * width;
    const R* above = dy + row * width;
    R* to = dx + row * width;
    const R center = mean[row], scale = inverse[row], single = gain[0];
    const auto normal = [=](std::int64_t c) INLIER_LAMBDA { return (from[c] - center) * scale; };
    const auto gained = [=](std::int64_t c) INLIER_LAMBDA {
      return above[c] * (kind == NormKind::kRmsSingle ? single : gain[c]);
    };
    R mean_gained = 0, mean_product = 0;
    if constexpr (kind == NormKind::kLayerNorm) {
      const TwoSums<R> sums =
          SumTwo<R>(width, gained, [=](std::int64_t c) INLIER_LAMBDA { return gained(c) * normal(c); });
      mean_gained = sums.first / width;
      mean_product = sums.second / width;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) {
        gain_gradient[c] += above[c] * normal(c);
        offset_gradient[c] += above[c];
      }
    } else if constexpr (kind == NormKind::kRmsPerChannel) {
      mean_product =
          Sum<R>(width, [=](std::int64_t c) INLIER_LAMBDA { return gained(c) * normal(c); }) / width;
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) gain_gradient[c] += above[c] * normal(c);
    } else {
      const R product = Sum<R>(width, [=](std::int64_t c) INLIER_LAMBDA { return above[c] * normal(c); });
      mean_product = product * single / width;
      gain_gradient[0] += product;
    }
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      to[c] = scale * (gained(c) - mean_gained - normal(c) * mean_product);
    }
  }
}

template <typename T>
INLIER_INLINE void ForwardAny(const NormWeights<Real<T>>& norm, std::int64_t rows, std::int64_t width,
                              const Real<T>* x, Real<T>* y, T* operand, Real<T>* mean, Real<T>* inverse) {
  switch (norm.kind) {
    case NormKind::kLayerNorm:
      return ForwardOf<NormKind::kLayerNorm>(norm, rows, width, x, y, operand, mean, inverse);
    case NormKind::kRmsPerChannel:
      return ForwardOf<NormKind::kRmsPerChannel>(norm, rows, width, x, y, operand, mean, inverse);
    case NormKind::kRmsSingle:
      return ForwardOf<NormKind::kRmsSingle>(norm, rows, width, x, y, operand, mean, inverse);
  }
}

template <typename R>
INLIER_INLINE void BackwardAny(const NormWeights<R>& norm, std::int64_t rows, std::int64_t width, const R* x,
                               const R* mean, const R* inverse, const R* dy, R* dx, R* gain_gradient,
                               R* offset_gradient) {
  switch (norm.kind) {
    case NormKind::kLayerNorm:
      return BackwardOf<NormKind::kLayerNorm>(norm, rows, width, x, mean, inverse, dy, dx, gain_gradient,
                                              offset_gradient);
    case NormKind::kRmsPerChannel:
      return BackwardOf<NormKind::kRmsPerChannel>(norm, rows, width, x, mean, inverse, dy, dx, gain_gradient,
                                                  offset_gradient);
    case NormKind::kRmsSingle:
      return BackwardOf<NormKind::kRmsSingle>(norm, rows, width, x, mean, inverse, dy, dx, gain_gradient,
                                              offset_gradient);
  }
}

}  // namespace

#define INLIER_NORM_FORWARD(T)                                                                               \
  template <>                                                                                                \
  INLIER_KERNEL void NormForward<T>(const NormWeights<Real<T>>& norm, std::int64_t rows, std::int64_t width, \
                                    const Real<T>* x, Real<T>* y, T* operand, Real<T>* mean,                 \
                                    Real<T>* inverse) {                                                      \
    ForwardAny<T>(norm, rows, width, x, y, operand, mean, inverse);                                          \
  }
#define INLIER_NORM_BACKWARD(R)                                                                         \
  template <>                                                                                           \
  INLIER_KERNEL void NormBackward<R>(const NormWeights<R>& norm, std::int64_t rows, std::int64_t width, \
                                     const R* x, const R* mean, const R* inverse, const R* dy, R* dx,   \
                                     R* gain_gradient, R* offset_gradient) {                            \
    BackwardAny<R>(norm, rows, width, x, mean, inverse, dy, dx, gain_gradient, offset_gradient);        \
  }

INLIER_NORM_FORWARD(float)
INLIER_NORM_FORWARD(double)
INLIER_NORM_FORWARD(Bf16)
INLIER_NORM_BACKWARD(float)
INLIER_NORM_BACKWARD(double)

}  // namespace inlier::kernels
