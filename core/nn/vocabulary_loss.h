// core/layer/vocabulary_loss.h as one node of the autograd graph.
#ifndef INLIER_CORE_NN_VOCABULARY_LOSS_H_
#define INLIER_CORE_NN_VOCABULARY_LOSS_H_

#include "core/layer/precision.h"
#include "core/layer/vocabulary_loss.h"

namespace inlier {

// The mean loss, one number. REQUIRES: products is not kReference; tensors on the CPU, in float32, or in double with
// kFloat32; or on a GPU, in float32 with kBfloat16. Its backward pass may run once.
at::Tensor VocabularyLoss(const layer::VocabularyInputs& inputs, layer::Products products);

}  // namespace inlier

#endif  // INLIER_CORE_NN_VOCABULARY_LOSS_H_
