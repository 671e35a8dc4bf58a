#include "core/models/bert_classifier.h"

#include <ATen/Functions.h>

#include "core/nn/dropout.h"
#include "core/nn/precision.h"

namespace inlier {

BertClassifier::BertClassifier(const BertOptions& options, std::int64_t outputs)
    : encoder_(ParameterScope(*this), options) {
  const ParameterScope root(*this);
  const std::int64_t width = options.layer.attention.hidden_size;
  pooler_ = Linear::Create(root.Child("bert.pooler.dense"), width, width);
  classifier_ = Linear::Create(root.Child("classifier"), width, outputs);
}

at::Tensor BertClassifier::Logits(const ModelInput& input, ActivationTap* tap) {
  const ForwardContext context = ContextOf(input, tap);
  const at::Tensor hidden = encoder_(input, context);
  const ForwardContext untapped;
  at::Tensor pooled = pooler_(hidden.select(1, 0), untapped).tanh();
  pooled = DropOut(pooled, encoder_.options().layer.dropout, context);
  return classifier_(pooled, untapped);
}

at::Tensor BertClassifier::Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap,
                                double label_smoothing) {
  const at::Tensor logits = AtLeastFloat32(Logits(input, tap));
  if (!labels.is_floating_point()) {
    return at::cross_entropy_loss(logits, labels, {}, at::Reduction::Mean, kIgnoredLabel, label_smoothing);
  }
  TORCH_CHECK(outputs() == 1, "numbers are predicted by one output, and this classifier has ", outputs());
  return at::mse_loss(logits.squeeze(1), labels.to(logits.scalar_type()));
}

}  // namespace inlier
