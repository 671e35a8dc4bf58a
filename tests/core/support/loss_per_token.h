// The cross-entropy of every position, from the logits: masked models (B, T), causal ones (B, T - 1).
#ifndef INLIER_TESTS_CORE_SUPPORT_LOSS_PER_TOKEN_H_
#define INLIER_TESTS_CORE_SUPPORT_LOSS_PER_TOKEN_H_

#include <ATen/Functions.h>

#include "core/models/language_model.h"

namespace inlier {

// 0 where there is no target.
inline at::Tensor LossPerToken(LanguageModel& model, const ModelInput& input, const at::Tensor& labels) {
  const bool causal = model.causal();
  const at::Tensor logits = causal ? model.Logits(input).slice(1, 0, -1) : model.Logits(input);
  const at::Tensor targets = causal ? labels.slice(1, 1) : labels;
  return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten(), {}, at::Reduction::None,
                                kIgnoredLabel)
      .view(targets.sizes());
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_SUPPORT_LOSS_PER_TOKEN_H_
