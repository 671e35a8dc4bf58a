#include "core/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels/vector_math.h"

namespace inlier::kernels {
namespace {

// The loss of one row, which becomes exp(logit - largest), and the sum of those.
template <typename R>
INLIER_INLINE double RowLoss(std::int64_t n, const R* bias, std::int64_t target, double smoothing, R* s,
                             R* sum) {
  if (bias != nullptr) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) s[j] += bias[j];
  }
  R largest = -std::numeric_limits<R>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t j = 0; j < n; ++j) largest = s[j] > largest ? s[j] : largest;
  R all = 0;  // The sum of (logit - largest).
  if (smoothing > 0) {
#pragma omp simd reduction(+ : all)
    for (std::int64_t j = 0; j < n; ++j) all += s[j] - largest;
  }
  const R of_target = s[target] - largest;
  R total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t j = 0; j < n; ++j) {
    s[j] = Exp(s[j] - largest);
    total += s[j];
  }
  *sum = total;
  const double wanted =
      (1 - smoothing) * double{of_target} + smoothing * double{all} / static_cast<double>(n);
  return std::log(double{total}) - wanted;
}

template <typename T>
INLIER_INLINE double CrossEntropyOf(const CrossEntropyRows<T>& shape, Real<T>* logits, std::int64_t stride,
                                    T* gradients, std::int64_t gradient_stride, Real<T>* bias_gradient) {
  using R = Real<T>;
  const std::int64_t n = shape.classes;
  const double smoothing = shape.label_smoothing;
  double loss = 0;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    R* const s = logits + row * stride;
    T* const out = gradients + row * gradient_stride;
    const std::int64_t target = shape.targets[row];
    if (target < 0) {
      if (gradients != nullptr) std::fill(out, out + n, T{});
      continue;
    }
    R sum = 0;
    loss += RowLoss(n, shape.bias, target, smoothing, s, &sum);
    if (gradients == nullptr) continue;
    const R factor = static_cast<R>(shape.gradient_scale / sum);
    const R share = static_cast<R>(shape.gradient_scale * smoothing / static_cast<double>(n));
    const R whole = static_cast<R>(shape.gradient_scale * (1 - smoothing));
    const R of_target = s[target] * factor - share - whole;
    if (bias_gradient == nullptr) {
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) out[j] = ToElement<T>(s[j] * factor - share);
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) {
        const R gradient = s[j] * factor - share;
        bias_gradient[j] += gradient;
        out[j] = ToElement<T>(gradient);
      }
      bias_gradient[target] -= whole;
    }
    out[target] = ToElement<T>(of_target);
  }
  return loss;
}

}  // namespace

#define INLIER_CROSS_ENTROPY(T)                                                                         \
  template <>                                                                                           \
  INLIER_KERNEL double CrossEntropy<T>(const CrossEntropyRows<T>& shape, Real<T>* logits,               \
                                       std::int64_t stride, T* gradients, std::int64_t gradient_stride, \
                                       Real<T>* bias_gradient) {                                        \
    return CrossEntropyOf<T>(shape, logits, stride, gradients, gradient_stride, bias_gradient);         \
  }
INLIER_CROSS_ENTROPY(float)
INLIER_CROSS_ENTROPY(double)
INLIER_CROSS_ENTROPY(Bf16)

}  // namespace inlier::kernels
