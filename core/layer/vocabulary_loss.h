// The end of a language model: mean cross-entropy of logits = hidden W^T + bias, with its gradients in the same pass.
#ifndef INLIER_CORE_LAYER_VOCABULARY_LOSS_H_
#define INLIER_CORE_LAYER_VOCABULARY_LOSS_H_

#include <ATen/core/Tensor.h>

namespace inlier::layer {

// Contiguous; float32, or double on the CPU.
struct VocabularyInputs {
  at::Tensor hidden;           // (n, d)
  at::Tensor weight;           // (V, d)
  at::Tensor bias;             // (V); undefined for none.
  at::Tensor targets;          // (n) int64, below V; negative ones are ignored.
  double label_smoothing = 0;  // As in core/models/model.h.
};

struct VocabularyResult {
  at::Tensor loss;  // One number: the mean over the targets that are not ignored; 0 where there are none.
  // Undefined where they are not asked for.
  at::Tensor hidden_gradient, weight_gradient, bias_gradient;
  // One number with which the gradients are still to be multiplied; undefined: 1.
  at::Tensor gradient_factor = {};
};

}  // namespace inlier::layer

#endif  // INLIER_CORE_LAYER_VOCABULARY_LOSS_H_
