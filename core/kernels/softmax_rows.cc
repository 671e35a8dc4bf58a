#include "core/kernels/softmax_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels/vector_math.h"

namespace inlier::kernels {
namespace {


// Keys that query `row` of the shape may see, from the front.
template <typename T>
INLIER_INLINE std::int64_t Keys(const SoftmaxRows<T>& shape, std::int64_t row) {
  const std::int64_t upto = shape.causal ? shape.first_query + row + 1 : shape.visible_keys;
  return std::min(upto, shape.visible_keys);
}

template <typename T>
INLIER_INLINE void ScaleAndHide(const SoftmaxRows<T>& shape, std::int64_t keys, Real<T>* s) {
  using R = Real<T>;
  const R scale = shape.scale;
#pragma omp simd
  for (std::int64_t j = 0; j < keys; ++j) s[j] *= scale;
  if (shape.key_hidden != nullptr) {
    for (std::int64_t j = 0; j < keys; ++j) {
      if (shape.key_hidden[j] != 0) s[j] = -std::numeric_limits<R>::infinity();
    }
  }
}

template <typename T>
INLIER_INLINE void Forward(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,
                           std::int64_t score_stride, T* probabilities, std::int64_t stride, Real<T>* log_sum,
                           Real<T>* factors) {
  using R = Real<T>;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    R* const s = scores + row * score_stride;
    T* const out = probabilities + row * stride;
    const std::int64_t keys = Keys(shape, row), query = shape.first_query + row;
    ScaleAndHide(shape, keys, s);
    R largest = shape.null_score == nullptr ? -std::numeric_limits<R>::infinity() : *shape.null_score;
#pragma omp simd reduction(max : largest)
    for (std::int64_t j = 0; j < keys; ++j) largest = s[j] > largest ? s[j] : largest;
    R sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < keys; ++j) {
      s[j] = Exp(s[j] - largest);
      sum += s[j];
    }
    if (shape.null_score != nullptr) sum += std::exp(*shape.null_score - largest);
    log_sum[query] = largest + std::log(sum);
    const R inverse = 1 / sum;
    const R gamma = shape.row_gamma == nullptr ? R{0} : shape.row_gamma[query];
    const R slope = shape.zeta - gamma;
#pragma omp simd
    for (std::int64_t j = 0; j < keys; ++j) {
      const R p = std::min(s[j] * inverse, R{1});
      s[j] = std::min(std::max(slope * p + gamma, R{0}), R{1});
    }
    if (shape.key_hidden != nullptr) {
      for (std::int64_t j = 0; j < keys; ++j) s[j] = shape.key_hidden[j] != 0 ? R{0} : s[j];
    }
    if (shape.dropout.active()) {
      DropoutFactors(shape.dropout, shape.first_row + static_cast<std::uint64_t>(query), keys, factors);
#pragma omp simd
      for (std::int64_t j = 0; j < keys; ++j) s[j] *= factors[j];
    }
#pragma omp simd
    for (std::int64_t j = 0; j < keys; ++j) out[j] = ToElement<T>(s[j]);
    std::fill(out + keys, out + columns, T{});
  }
}

template <typename T>
INLIER_INLINE void Backward(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores, Real<T>* gradients,
                            std::int64_t score_stride, const Real<T>* log_sum, T* probabilities, T* score_gradients,
                            std::int64_t stride, Real<T>* null_gradient, Real<T>* factors) {
  using R = Real<T>;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    R* const s = scores + row * score_stride;
    R* const g = gradients + row * score_stride;
    T* const left = probabilities + row * stride;
    T* const out = score_gradients + row * stride;
    const std::int64_t keys = Keys(shape, row), query = shape.first_query + row;
    ScaleAndHide(shape, keys, s);
    if (shape.dropout.active()) {
      DropoutFactors(shape.dropout, shape.first_row + static_cast<std::uint64_t>(query), keys, factors);
    } else {
      std::fill(factors, factors + keys, R{1});
    }
    if (shape.key_hidden != nullptr) {
      for (std::int64_t j = 0; j < keys; ++j) factors[j] = shape.key_hidden[j] != 0 ? R{0} : factors[j];
    }
    const R shift = log_sum[query];
    const R gamma = shape.row_gamma == nullptr ? R{0} : shape.row_gamma[query];
    const R slope = shape.zeta - gamma;
    R sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < keys; ++j) {
      const R p = std::min(Exp(s[j] - shift), R{1});
      const R x = slope * p + gamma;
      const R y = std::min(std::max(x, R{0}), R{1});
      const R through = x == y ? slope * factors[j] : R{0};
      left[j] = ToElement<T>(y * factors[j]);
      g[j] *= through;
      s[j] = p;
      sum += p * g[j];
    }
    const R scale = shape.scale;
#pragma omp simd
    for (std::int64_t j = 0; j < keys; ++j) out[j] = ToElement<T>(scale * s[j] * (g[j] - sum));
    std::fill(left + keys, left + columns, T{});
    std::fill(out + keys, out + columns, T{});
    if (null_gradient != nullptr) *null_gradient -= std::exp(*shape.null_score - shift) * sum;
  }
}

}  // namespace

#define INLIER_SOFTMAX(T)                                                                                         \
  template <>                                                                                                     \
  INLIER_KERNEL void SoftmaxForward<T>(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,        \
                                       std::int64_t score_stride, T* probabilities, std::int64_t stride,          \
                                       Real<T>* log_sum, Real<T>* factors) {                                      \
    Forward<T>(shape, columns, scores, score_stride, probabilities, stride, log_sum, factors);                    \
  }                                                                                                               \
  template <>                                                                                                     \
  INLIER_KERNEL void SoftmaxBackward<T>(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,       \
                                        Real<T>* gradients, std::int64_t score_stride, const Real<T>* log_sum,    \
                                        T* probabilities, T* score_gradients, std::int64_t stride,                \
                                        Real<T>* null_gradient, Real<T>* factors) {                               \
    Backward<T>(shape, columns, scores, gradients, score_stride, log_sum, probabilities, score_gradients, stride, \
                null_gradient, factors);                                                                          \
  }
INLIER_SOFTMAX(float)
INLIER_SOFTMAX(double)
INLIER_SOFTMAX(Bf16)

}  // namespace inlier::kernels
