// From attention scores to attention probabilities. Pure functions over the last dimension, the keys.
//
// scores: (..., T), already scaled and masked. A masked key has a score of -inf, or the most negative number
// of its type, which is an ordinary score that is never large: a row of only such keys is uniform under
// Softmax and zero under the functions with a null key. Half-width scores give float32.
//
// A row that is entirely -inf gives probabilities and gradients of exactly 0. Softmax and its clipped forms
// need a pass over the scores for that and leave it out when `may_have_empty_rows` is false.
#ifndef INLIER_CORE_NN_ATTENTION_SOFTMAX_H_
#define INLIER_CORE_NN_ATTENTION_SOFTMAX_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "core/nn/attention/script.h"

namespace inlier {

// exp(s_i) / sum_j exp(s_j).
at::Tensor Softmax(const at::Tensor& scores, bool may_have_empty_rows = true);

// clip((zeta - gamma) * softmax(scores) + gamma, 0, 1).   (Bondarenko et al. 2023, eq. 4) A masked key has
// probability 0 and, with gamma <= 0, stays exactly 0. Rows need not sum to one; nothing is renormalised. The
// gradient is that of the clip: 0 where the stretched value lies outside [0, 1].
at::Tensor ClippedSoftmax(const at::Tensor& scores, double gamma, double zeta,
                          bool may_have_empty_rows = true);
// With a gamma a row: anything that broadcasts to (..., 1).
at::Tensor ClippedSoftmax(const at::Tensor& scores, const at::Tensor& gamma, double zeta,
                          bool may_have_empty_rows = true);

// The gamma at which a row of n keys without clipping sums to beta: (beta - zeta) / (n - 1), and 0 for n <= 1, where every
// gamma gives the same.   (Liao and Monz 2024, eq. 3)
double NcsGamma(double beta, double zeta, double n);
at::Tensor NcsGamma(double beta, double zeta, const at::Tensor& n);

// exp(s_i) / (exp(z) + sum_j exp(s_j)): a null key of score z = `null_score` and no value. z = ln n is
// softmax_n, z = 0 softmax-1 (Kaul et al. 2025, section 3.1), a learned z a head the sink of gpt-oss.
at::Tensor NullKeySoftmax(const at::Tensor& scores, double null_score);
// With a z a row: anything that broadcasts to (..., 1). It gets a gradient.
at::Tensor NullKeySoftmax(const at::Tensor& scores, const at::Tensor& null_score);

// relu(r_i) / (sum_j |r_j| + epsilon) with r_j = exp(s_j - m) - exp(-m) and m the row's largest score, taken
// as a constant by the gradient; keys of score -inf are left out of the sum.   (Zuhri et al. 2025)
at::Tensor Softpick(const at::Tensor& scores, double epsilon);

// sigmoid(s_i - ln max(n, 1)) with n keys in the row.   (Ramapuram et al. 2024) row_lengths: n, broadcasts to (..., 1).
at::Tensor SigmoidAttention(const at::Tensor& scores, const at::Tensor& row_lengths);

// Further inputs of a row.
struct RowInfo {
  at::Tensor lengths;           // kNcs with kUnpadded or kRow, kSigmoid: n, broadcasts to (B, H, T, 1).
  at::Tensor null_score;        // kSink: z, broadcasts to (B, H, T, 1).
  at::Tensor visible;           // kFunction: as AttentionMask::visible.
  std::int64_t added_keys = 0;  // Keys at the end of every row that are not tokens: no length n counts them.
};

struct SoftmaxOptions {
  // kFunction is every one without kernels and further weights: LibTorch's operations compute it.
  enum class Kind { kVanilla, kClipped, kNcs, kNullKey, kSink, kSoftpick, kSigmoid, kFunction };
  // The length n of NCS.
  enum class RowLength {
    kConfigured,  // configured_length.
    kRun,         // The keys of this call, registers too.
    kUnpadded,    // Real tokens of the sequence.
    kRow          // Keys that the query sees in a causal model: its position, from 1.
  };
  Kind kind = Kind::kVanilla;
  double gamma = 0;  // kClipped.
  double zeta = 1;   // kClipped, kNcs.
  double beta = 1;   // kNcs.
  RowLength length = RowLength::kRun;
  std::int64_t configured_length = 0;
  double null_score = 0;  // kNullKey.
  double epsilon = 0;     // kSoftpick.
  // kFunction: probabilities of scores as AttentionProbabilities has them, 0 where row.visible is false.
  std::function<at::Tensor(const at::Tensor& scores, const RowInfo& row)> function = nullptr;
  std::shared_ptr<const Script> script = nullptr;  // kFunction: what `function` runs, if it is a script.

  // kClipped, and kNcs without a length a row: the gamma of all rows of a call with `keys` keys.
  double UniformGamma(std::int64_t keys) const;

  // True when a masked key must have -inf, because the function counts any other score.
  bool needs_infinite_mask() const { return kind == Kind::kSoftpick; }
};

// scores: (B, H, T, T + added_keys), masked, without rows of -inf only (softpick excepted). float32 at least.
at::Tensor AttentionProbabilities(const at::Tensor& scores, const SoftmaxOptions& options,
                                  const RowInfo& row = {});

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_SOFTMAX_H_
