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
  if (!shape.causal) return shape.visible_keys;
  const std::int64_t query = shape.first_query + row;
  return std::min(query < shape.prefix ? shape.prefix : query + 1, shape.visible_keys);
}

// Loops run over whole vectors: what lies between a row's keys and this is hidden, too.
INLIER_INLINE std::int64_t WholeVectors(std::int64_t keys) {
  return (keys + kSoftmaxVector - 1) / kSoftmaxVector * kSoftmaxVector;
}

template <typename T>
INLIER_INLINE void Hide(const SoftmaxRows<T>& shape, std::int64_t keys, Real<T>* s) {
  constexpr Real<T> kHidden = -std::numeric_limits<Real<T>>::infinity();
  std::fill(s + keys, s + WholeVectors(keys), kHidden);
  if (shape.key_hidden == nullptr) return;
  for (std::int64_t j = 0; j < keys; ++j) s[j] = shape.key_hidden[j] != 0 ? kHidden : s[j];
}

// The factors of dropout; 0 for hidden keys.
template <typename T>
INLIER_INLINE void Factors(const SoftmaxRows<T>& shape, std::int64_t query, std::int64_t keys,
                           Real<T>* factors) {
  using R = Real<T>;
  if (shape.dropout.active()) {
    DropoutFactors(shape.dropout, shape.first_row + static_cast<std::uint64_t>(query), WholeVectors(keys),
                   factors);
  } else {
    std::fill(factors, factors + WholeVectors(keys), R{1});
  }
  if (shape.key_hidden != nullptr) {
    for (std::int64_t j = 0; j < keys; ++j) factors[j] = shape.key_hidden[j] != 0 ? R{0} : factors[j];
  }
}

// exp(score - the largest). The difference is taken before the scale: it is exact where it matters, so that
// large scores are rounded no more than small ones.
template <typename R>
INLIER_INLINE R Weight(R score, R largest, R scale) {
  return Exp((score - largest) * scale);
}

template <typename T>
INLIER_INLINE void ForwardRow(const SoftmaxRows<T>& shape, std::int64_t keys, Real<T>* statistics,
                              Real<T> gamma, Real<T>* s, const Real<T>* factors, T* out) {
  using R = Real<T>;
  const std::int64_t end = WholeVectors(keys);
  const R scale = shape.scale;
  R largest = shape.null_score == nullptr ? -std::numeric_limits<R>::infinity() : *shape.null_score / scale;
#pragma omp simd reduction(max : largest)
  for (std::int64_t j = 0; j < end; ++j) largest = s[j] > largest ? s[j] : largest;
  R sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < end; ++j) {
    s[j] = Weight(s[j], largest, scale);
    sum += s[j];
  }
  if (shape.null_score != nullptr) sum += Exp(*shape.null_score - largest * scale);
  const R inverse = 1 / sum, slope = shape.zeta - gamma;
  statistics[0] = largest;
  statistics[1] = inverse;
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) {
    const R p = std::min(s[j] * inverse, R{1});
    const R y = std::min(std::max(slope * p + gamma, R{0}), R{1});
    s[j] = y * factors[j];
  }
  // A loop of its own: together with numbers of 16 bits, the compiler takes shorter vectors for all of it.
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) out[j] = ToElement<T>(s[j]);
}

template <typename T>
INLIER_INLINE void BackwardRow(const SoftmaxRows<T>& shape, std::int64_t keys, const Real<T>* statistics,
                               Real<T> gamma, Real<T>* s, Real<T>* g, Real<T>* factors, T* left, T* out,
                               Real<T>* null_gradient) {
  using R = Real<T>;
  const std::int64_t end = WholeVectors(keys);
  const R scale = shape.scale, slope = shape.zeta - gamma, largest = statistics[0], inverse = statistics[1];
  R sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < end; ++j) {
    const R p = std::min(Weight(s[j], largest, scale) * inverse, R{1});
    const R x = slope * p + gamma;
    const R y = std::min(std::max(x, R{0}), R{1});
    const R through = x == y ? slope : R{0};
    g[j] *= through * factors[j];
    factors[j] = y * factors[j];
    s[j] = p;
    sum += p * g[j];
  }
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) left[j] = ToElement<T>(factors[j]);
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) out[j] = ToElement<T>(scale * s[j] * (g[j] - sum));
  if (null_gradient != nullptr) *null_gradient -= Exp(*shape.null_score - largest * scale) * inverse * sum;
}

// 0 where the key is hidden, which counts in no sum.
template <typename R>
INLIER_INLINE R Softpicked(R score, R weight, R floor) {
  return score > -std::numeric_limits<R>::infinity() ? weight - floor : R{0};
}

template <typename T>
INLIER_INLINE void SoftpickForwardRow(const SoftmaxRows<T>& shape, std::int64_t keys, Real<T>* statistics,
                                      Real<T>* s, const Real<T>* factors, T* out) {
  using R = Real<T>;
  const std::int64_t end = WholeVectors(keys);
  const R scale = shape.scale;
  R largest = -std::numeric_limits<R>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t j = 0; j < end; ++j) largest = s[j] > largest ? s[j] : largest;
  if (largest == -std::numeric_limits<R>::infinity()) largest = 0;  // Every key is hidden.
  const R floor = Exp(-largest * scale);
  R sum = shape.epsilon;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < end; ++j) {
    s[j] = Softpicked(s[j], Weight(s[j], largest, scale), floor);
    sum += std::abs(s[j]);
  }
  const R inverse = 1 / sum;
  statistics[0] = largest;
  statistics[1] = inverse;
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) s[j] = std::max(s[j], R{0}) * inverse * factors[j];
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) out[j] = ToElement<T>(s[j]);
}

template <typename T>
INLIER_INLINE void SoftpickBackwardRow(const SoftmaxRows<T>& shape, std::int64_t keys,
                                       const Real<T>* statistics, Real<T>* s, Real<T>* g, Real<T>* factors,
                                       T* left, T* out) {
  using R = Real<T>;
  const std::int64_t end = WholeVectors(keys);
  const R scale = shape.scale, largest = statistics[0], inverse = statistics[1];
  const R floor = Exp(-largest * scale);
  R sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < end; ++j) {
    const R weight = Weight(s[j], largest, scale);
    const R r = Softpicked(s[j], weight, floor);
    const R y = std::max(r, R{0}) * inverse;
    g[j] *= factors[j];
    factors[j] = y * factors[j];
    sum += y * g[j];
    // Of the score, but for the sum: its part has the sign of r.
    g[j] = r > 0 ? g[j] : R{0};
    s[j] = r == 0 ? R{0} : r > 0 ? weight : -weight;
  }
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) left[j] = ToElement<T>(factors[j]);
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) {
    out[j] = ToElement<T>(scale * inverse * (std::abs(s[j]) * g[j] - s[j] * sum));
  }
}

template <typename T>
INLIER_INLINE void SigmoidForwardRow(const SoftmaxRows<T>& shape, std::int64_t keys, Real<T> log_length,
                                     Real<T>* s, const Real<T>* factors, T* out) {
  const std::int64_t end = WholeVectors(keys);
  const Real<T> scale = shape.scale;
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) s[j] = Sigmoid(s[j] * scale - log_length) * factors[j];
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) out[j] = ToElement<T>(s[j]);
}

template <typename T>
INLIER_INLINE void SigmoidBackwardRow(const SoftmaxRows<T>& shape, std::int64_t keys, Real<T> log_length,
                                      Real<T>* s, Real<T>* g, Real<T>* factors, T* left, T* out) {
  using R = Real<T>;
  const std::int64_t end = WholeVectors(keys);
  const R scale = shape.scale;
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) {
    const SigmoidSlope<R> y = SigmoidWithSlope(s[j] * scale - log_length);
    g[j] *= factors[j] * scale * y.slope;
    factors[j] *= y.value;
  }
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) left[j] = ToElement<T>(factors[j]);
#pragma omp simd
  for (std::int64_t j = 0; j < end; ++j) out[j] = ToElement<T>(g[j]);
}

template <typename T>
INLIER_INLINE void Forward(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,
                           std::int64_t score_stride, T* probabilities, std::int64_t stride,
                           Real<T>* statistics, Real<T>* factors) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    Real<T>* const s = scores + row * score_stride;
    T* const out = probabilities + row * stride;
    const std::int64_t keys = Keys(shape, row), query = shape.first_query + row;
    const Real<T> constant = shape.row_constant == nullptr ? Real<T>{0} : shape.row_constant[query];
    Hide(shape, keys, s);
    Factors(shape, query, keys, factors);
    if (shape.kind == SoftmaxKind::kSoftpick) {
      SoftpickForwardRow(shape, keys, statistics + 2 * query, s, factors, out);
    } else if (shape.kind == SoftmaxKind::kSigmoid) {
      SigmoidForwardRow(shape, keys, constant, s, factors, out);
    } else {
      ForwardRow(shape, keys, statistics + 2 * query, constant, s, factors, out);
    }
    std::fill(out + keys, out + std::max(columns, keys), T{});
  }
}

template <typename T>
INLIER_INLINE void Backward(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,
                            Real<T>* gradients, std::int64_t score_stride, const Real<T>* statistics,
                            T* probabilities, T* score_gradients, std::int64_t stride, Real<T>* null_gradient,
                            Real<T>* factors) {
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    Real<T>* const s = scores + row * score_stride;
    Real<T>* const g = gradients + row * score_stride;
    T* const left = probabilities + row * stride;
    T* const out = score_gradients + row * stride;
    const std::int64_t keys = Keys(shape, row), query = shape.first_query + row;
    const Real<T> constant = shape.row_constant == nullptr ? Real<T>{0} : shape.row_constant[query];
    Hide(shape, keys, s);
    std::fill(g + keys, g + WholeVectors(keys), Real<T>{0});
    Factors(shape, query, keys, factors);
    if (shape.kind == SoftmaxKind::kSoftpick) {
      SoftpickBackwardRow(shape, keys, statistics + 2 * query, s, g, factors, left, out);
    } else if (shape.kind == SoftmaxKind::kSigmoid) {
      SigmoidBackwardRow(shape, keys, constant, s, g, factors, left, out);
    } else {
      BackwardRow(shape, keys, statistics + 2 * query, constant, s, g, factors, left, out, null_gradient);
    }
    std::fill(left + keys, left + std::max(columns, keys), T{});
    std::fill(out + keys, out + std::max(columns, keys), T{});
  }
}

}  // namespace

#define INLIER_SOFTMAX(T)                                                                                    \
  template <>                                                                                                \
  INLIER_KERNEL void SoftmaxForward<T>(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,   \
                                       std::int64_t score_stride, T* probabilities, std::int64_t stride,     \
                                       Real<T>* statistics, Real<T>* factors) {                              \
    Forward<T>(shape, columns, scores, score_stride, probabilities, stride, statistics, factors);            \
  }                                                                                                          \
  template <>                                                                                                \
  INLIER_KERNEL void SoftmaxBackward<T>(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,  \
                                        Real<T>* gradients, std::int64_t score_stride,                       \
                                        const Real<T>* statistics, T* probabilities, T* score_gradients,     \
                                        std::int64_t stride, Real<T>* null_gradient, Real<T>* factors) {     \
    Backward<T>(shape, columns, scores, gradients, score_stride, statistics, probabilities, score_gradients, \
                stride, null_gradient, factors);                                                             \
  }
INLIER_SOFTMAX(float)
INLIER_SOFTMAX(double)
INLIER_SOFTMAX(Bf16)

}  // namespace inlier::kernels
