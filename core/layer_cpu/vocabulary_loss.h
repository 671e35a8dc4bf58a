// The end of a language model: mean cross-entropy of logits = hidden W^T + bias, with its gradients in the same pass.
//
// Logits exist for a few rows at a time, their gradients for about a thousand; everything else is done on blocks in
// the cache. Results do not depend on the number of threads.
#ifndef INLIER_CORE_LAYER_CPU_VOCABULARY_LOSS_H_
#define INLIER_CORE_LAYER_CPU_VOCABULARY_LOSS_H_

#include <ATen/core/Tensor.h>

namespace inlier::fused {

// Real<T>, contiguous, on the CPU.
struct VocabularyInputs {
  at::Tensor hidden;           // (n, d)
  at::Tensor weight;           // (V, d)
  at::Tensor bias;             // (V); undefined for none.
  at::Tensor targets;          // (n) int64, below V; negative ones are ignored.
  double label_smoothing = 0;  // As in core/models/model.h.
};

struct VocabularyLoss {
  at::Tensor
      loss;  // One number, Real<T>: the mean over the targets that are not ignored; 0 where there are none.
  // Undefined where they are not asked for.
  at::Tensor hidden_gradient, weight_gradient, bias_gradient;
  at::Tensor gradient_factor =
      {};  // One number with which the gradients are still to be multiplied; undefined: 1.
};

// T: type of the products' operands. Throws c10::Error when a target is not below V.
template <typename T>
VocabularyLoss ComputeVocabularyLoss(const VocabularyInputs& inputs, bool gradients);

}  // namespace inlier::fused

#endif  // INLIER_CORE_LAYER_CPU_VOCABULARY_LOSS_H_
