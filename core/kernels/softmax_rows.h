// The rows of attention's softmax family, from scores to the probabilities that multiply the values, and
// back.
//
// Kinds and gradients: core/layer_cpu/attention.h. Those that sum exponentials take one path: softmax is the clipped one
// with gamma 0 and zeta 1, so that the two are equal bit for bit.
#ifndef INLIER_CORE_KERNELS_SOFTMAX_ROWS_H_
#define INLIER_CORE_KERNELS_SOFTMAX_ROWS_H_

#include <cstdint>

#include "core/kernels/dropout.h"
#include "core/kernels/element.h"

namespace inlier::kernels {

// core/nn/attention/softmax.h has the formulas and their sources.
enum class SoftmaxKind {
  kSoftmax,
  kClipped,   // clip((zeta - gamma) p + gamma, 0, 1); also NCS, with a gamma a row.
  kNullKey,   // softmax with a further key of score null_score and value 0: softmax-1, softmax-n, sink.
  kSoftpick,  // relu(r) / (sum |r| + epsilon), r = exp(s - largest) - exp(-largest).
  kSigmoid    // The logistic function of s - ln n, with an n a row.
};

// Rows of queries `first_query` … of one head.
template <typename T>
struct SoftmaxRows {
  SoftmaxKind kind = SoftmaxKind::kSoftmax;
  std::int64_t rows = 0;
  std::int64_t first_query = 0;
  bool causal = false;                       // Query t sees keys up to t.
  std::int64_t prefix = 0;                   // Causal: the first so many see each other.
  std::int64_t visible_keys = 0;             // Keys from here on are hidden. At least 1.
  const std::uint8_t* key_hidden = nullptr;  // 1 = hidden; null for none.
  Real<T> scale = 1;                         // Of the scores.
  Real<T> zeta = 1;
  Real<T> epsilon = 0;                    // kSoftpick.
  const Real<T>* row_constant = nullptr;  // Of the head's query 0 on, gamma, or ln n of kSigmoid; null: 0.
  const Real<T>* null_score = nullptr;    // Of a further key without a value; null: none.
  Dropout dropout;
  std::uint64_t first_row = 0;  // The dropout's row of query 0.
};

// Room that a row of scores, gradients, probabilities or factors needs: its columns, rounded up to a multiple
// of this.
inline constexpr std::int64_t kSoftmaxVector = 16;

// scores (rows, columns), before the scale, with a stride; overwritten. probabilities (rows, stride): to be
// multiplied with the values, 0 for hidden keys and up to `columns`. statistics (query, 2), of query 0 on,
// for the backward pass: the largest score (before the scale) and the inverse of the sum of exponentials, the
// null key's among both; kSoftpick: of the denominator; kSigmoid: nothing.
template <typename T>
void SoftmaxForward(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores,
                    std::int64_t score_stride, T* probabilities, std::int64_t stride, Real<T>* statistics,
                    Real<T>* factors);

// From the same scores and `gradients` of the product's left side (rows, columns), both overwritten: the left
// side again, and the gradient of the scores before the scale. The null key's is added to null_gradient (may
// be null).
template <typename T>
void SoftmaxBackward(const SoftmaxRows<T>& shape, std::int64_t columns, Real<T>* scores, Real<T>* gradients,
                     std::int64_t score_stride, const Real<T>* statistics, T* probabilities,
                     T* score_gradients, std::int64_t stride, Real<T>* null_gradient, Real<T>* factors);

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_SOFTMAX_ROWS_H_
