#include "core/train/prediction.h"

#include <ATen/Functions.h>

#include "core/nn/precision.h"

namespace inlier {

Prediction Predict(LanguageModel& model, const ModelInput& input, const at::Tensor& labels,
                   ActivationTap* tap) {
  at::Tensor logits = model.Logits(input, tap);  // (B, T, V)
  at::Tensor targets = labels;                   // (B, T)
  if (model.causal()) {                          // Position t predicts the label of t + 1.
    logits = logits.slice(1, 0, logits.size(1) - 1);
    targets = targets.slice(1, 1);
  }
  logits = logits.reshape({-1, logits.size(2)});
  targets = targets.reshape({-1});
  const at::Tensor where = targets.ne(kIgnoredLabel).nonzero().squeeze(1);
  Prediction prediction{.loss = 0, .targets = where.numel(), .correct = 0};
  if (prediction.targets == 0) return prediction;
  prediction.loss =
      at::cross_entropy_loss(AtLeastFloat32(logits), targets, {}, at::Reduction::Mean, kIgnoredLabel)
          .item<double>();
  const at::Tensor best = logits.index_select(0, where).argmax(1);
  prediction.correct = best.eq(targets.index_select(0, where)).sum().item<std::int64_t>();
  return prediction;
}

}  // namespace inlier
