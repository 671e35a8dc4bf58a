// Attention of the softmax family with a hand-written gradient; scores and probabilities never leave the cache.
//
//   s = scale q k^T, hidden keys out;  p = softmax of s, of the kind;  o = dropout(p) v;  o = o * gate
//
// Kinds and their sources: core/nn/attention/softmax.h. One call serves one head of one sequence: (T, h) slices with a row
// stride, so that q, k and v may be parts of one packed projection. Any T >= 1.
//
// Backward (clipped: shared/reference section 3 of the gradients): with y = clip(slope p + gamma, 0, 1), m = 1 where
// y is not clipped, z the dropout's factors:  dv = (y z)^T do;  dp = slope m z (do v^T);  D = sum_j p dp;
// ds = p (dp - D);  dq = scale ds k;  dk = scale ds^T q. Exact zeros stay zeros; a hidden key gets no gradient. Softpick,
// with y = relu(r) / N, D = sum_j y dp and dp = z (do v^T):  ds = (exp(s - m) / N) (dp [r > 0] - sign(r) D); sigmoid:
// ds = y (1 - y) dp.
#ifndef INLIER_CORE_LAYER_CPU_ATTENTION_H_
#define INLIER_CORE_LAYER_CPU_ATTENTION_H_

#include <cstdint>

#include "core/kernels/dropout.h"
#include "core/layer/layer.h"
#include "core/layer_cpu/matmul.h"

namespace inlier::layer::cpu {

// T: type of operands.
template <typename T>
struct AttentionHead {
  const T* q = nullptr;  // Row t begins at q + t * stride.
  const T* k = nullptr;
  const T* v = nullptr;
  std::int64_t stride = 0;        // Of q, k and v.
  std::int64_t visible_keys = 0;  // Keys from here on are padding; T without padding. At least 1.
  // (T), 1 = hidden, for padding that is not at the end; null for none.
  const std::uint8_t* key_hidden = nullptr;
  const Real<T>* row_constant = nullptr;  // (T): gamma of kClipped, ln n of kSigmoid.
  Real<T> null_score = 0;                 // kNullKey.
  kernels::Dropout dropout;               // On the probabilities; row first_row + t, column = key.
  std::uint64_t first_row = 0;
};

// Elements of scratch memory for one call (one a thread).
template <typename T>
std::int64_t AttentionScratch(const AttentionShape& shape);

// o (T, h) with o_stride, in Real<T>; statistics (T, 2): of each row, for the same probabilities again in the
// backward pass (core/kernels/softmax_rows.h).
template <typename T>
void AttentionForward(const AttentionShape& shape, const AttentionHead<T>& head, Real<T>* o,
                      std::int64_t o_stride, Real<T>* statistics, std::byte* scratch);

// From d_o (T, h), as T: dq, dk and dv as T, overwritten, with the stride d_stride; null_score_gradient (may be
// null) is added to.
template <typename T>
void AttentionBackward(const AttentionShape& shape, const AttentionHead<T>& head, const Real<T>* statistics,
                       const T* d_o, std::int64_t o_stride, T* dq, T* dk, T* dv, std::int64_t d_stride,
                       Real<T>* null_score_gradient, std::byte* scratch);

}  // namespace inlier::layer::cpu

#endif  // INLIER_CORE_LAYER_CPU_ATTENTION_H_
