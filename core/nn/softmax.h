// From attention scores to attention probabilities.
#ifndef INLIER_CORE_NN_SOFTMAX_H_
#define INLIER_CORE_NN_SOFTMAX_H_

#include <ATen/core/Tensor.h>

namespace inlier {

// clip((zeta - gamma) * softmax(scores) + gamma, 0, 1) over the last dimension.   (Bondarenko et al. 2023,
// eq. 4) scores: (..., T), already masked: a masked key has probability 0 and, with gamma <= 0, stays exactly
// 0. Rows need not sum to one; nothing is renormalised. The gradient is that of the clip: 0 where the
// stretched value lies outside [0, 1]. Half-width scores give float32.
at::Tensor ClippedSoftmax(const at::Tensor& scores, double gamma, double zeta);

// Which of them a model uses.
struct SoftmaxOptions {
  enum class Kind { kVanilla, kClipped };
  Kind kind = Kind::kVanilla;
  double gamma = 0;  // kClipped only.
  double zeta = 1;
};

// scores: (..., T), masked. float32 at least.
at::Tensor AttentionProbabilities(const at::Tensor& scores, const SoftmaxOptions& options);

}  // namespace inlier

#endif  // INLIER_CORE_NN_SOFTMAX_H_
