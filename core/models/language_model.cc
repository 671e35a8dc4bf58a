#include "core/models/language_model.h"

#include <ATen/Functions.h>

#include "core/nn/precision.h"
#include "core/nn/vocabulary_loss.h"

namespace inlier {

at::Tensor LanguageModel::Logits(const ModelInput& input, ActivationTap* tap) {
  return Head(Encode(input, tap), tap);
}

at::Tensor LanguageModel::LogitsAt(const ModelInput& input, const at::Tensor& places, ActivationTap* tap) {
  const at::Tensor hidden = Encode(input, tap);
  const auto at_places = [&places](const at::Tensor& per_position) {
    return per_position.reshape({-1, per_position.size(2)}).index_select(0, places);
  };
  if (tap != nullptr && tap_sees_head()) return at_places(Head(hidden, tap));
  return Head(at_places(hidden), nullptr);
}

at::Tensor LanguageModel::Predicting(const at::Tensor& per_position) const {
  const at::Tensor kept = causal() ? per_position.slice(1, 0, per_position.size(1) - 1) : per_position;
  return kept.reshape({-1, per_position.size(2)});
}

at::Tensor LanguageModel::Targets(const at::Tensor& labels) const {
  if (!causal()) return labels.reshape({-1});
  at::Tensor targets = labels.slice(1, 1);
  if (prefix_tokens() > 1) {  // They are seen, so they are not predicted.
    targets = targets.clone();
    targets.slice(1, 0, prefix_tokens() - 1).fill_(kIgnoredLabel);
  }
  return targets.reshape({-1});
}

std::int64_t LanguageModel::TargetsIn(const at::Tensor& labels) const {
  return Targets(labels).ne(kIgnoredLabel).sum().item<std::int64_t>();
}

void LanguageModel::Observe(const ModelInput& input, ActivationTap& tap) {
  const at::Tensor hidden = Encode(input, &tap);
  if (tap_sees_head()) Head(hidden, &tap);
}

std::pair<at::Tensor, at::Tensor> LanguageModel::Predictions(const ModelInput& input,
                                                             const at::Tensor& labels, ActivationTap* tap) {
  const at::Tensor hidden = Encode(input, tap), targets = Targets(labels);
  const at::Tensor where = targets.ne(kIgnoredLabel).nonzero().squeeze(1);
  const bool all = where.numel() == targets.numel();
  const auto at_targets = [&](const at::Tensor& rows) { return all ? rows : rows.index_select(0, where); };
  if (tap != nullptr && tap_sees_head())
    return {at_targets(Predicting(Head(hidden, tap))), at_targets(targets)};
  return {Head(at_targets(Predicting(hidden)), nullptr), at_targets(targets)};
}

at::Tensor LanguageModel::Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap,
                               double label_smoothing) {
  at::Tensor hidden = Encode(input, tap);
  at::Tensor targets = Targets(labels);
  const at::Tensor where = targets.ne(kIgnoredLabel).nonzero().squeeze(1);
  if (where.numel() == 0) return hidden.sum() * 0;
  at::Tensor predictions;
  if (tap != nullptr) {
    predictions = Predicting(Head(hidden, tap));
  } else {
    hidden = Predicting(hidden);
    if (where.numel() < targets.numel()) {
      hidden = hidden.index_select(0, where);
      targets = targets.index_select(0, where);
    }
    if (input.products != layer::Products::kReference) {
      const Vocabulary vocabulary = HeadVocabulary();
      return VocabularyLoss({.hidden = HeadInput(hidden, ContextOf(input, nullptr)).contiguous(),
                             .weight = vocabulary.weight,
                             .bias = vocabulary.bias,
                             .targets = targets.contiguous(),
                             .label_smoothing = label_smoothing},
                            input.products);
    }
    predictions = Head(hidden, nullptr);
  }
  return at::cross_entropy_loss(AtLeastFloat32(predictions), targets, {}, at::Reduction::Mean, kIgnoredLabel,
                                label_smoothing);
}

}  // namespace inlier
