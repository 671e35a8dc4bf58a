// A transformer's layer and the vocabulary's loss on the CPU (core/layer), in a few passes, each by blocks of tokens that stay
// in the cache. Results do not depend on the number of threads.
//
// Products are of double for inputs of that type, else of bfloat16 with Products::kBfloat16, else of float.
#ifndef INLIER_CORE_LAYER_CPU_LAYER_H_
#define INLIER_CORE_LAYER_CPU_LAYER_H_

#include "core/layer/layer.h"
#include "core/layer/vocabulary_loss.h"

namespace inlier::layer::cpu {

Result LayerForward(Call& call);
Gradients LayerBackward(const Call& call, const at::Tensor& y_gradient, double ffn_penalty_gradient);

// Logits exist for a few rows at a time, their gradients for about a thousand. Throws c10::Error for a target >= V.
VocabularyResult ComputeVocabularyLoss(const VocabularyInputs& inputs, Products products, bool gradients);

}  // namespace inlier::layer::cpu

#endif  // INLIER_CORE_LAYER_CPU_LAYER_H_
