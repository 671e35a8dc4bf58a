// core/layer_cpu/vocabulary_loss.h on a GPU: bfloat16 logits of a block of rows at a time, which their gradients replace.
#ifndef INLIER_CORE_LAYER_CUDA_VOCABULARY_LOSS_H_
#define INLIER_CORE_LAYER_CUDA_VOCABULARY_LOSS_H_

#include "core/layer_cpu/vocabulary_loss.h"

namespace inlier::device {

// As fused::ComputeVocabularyLoss, with float32 inputs on the device; the gradients still lack the factor
// VocabularyLoss::gradient_factor, so that nothing waits for the number of targets. A target that is not below V gives
// a loss that is NaN.
fused::VocabularyLoss ComputeVocabularyLoss(const fused::VocabularyInputs& inputs, bool gradients);

}  // namespace inlier::device

#endif  // INLIER_CORE_LAYER_CUDA_VOCABULARY_LOSS_H_
