#include "core/models/bert.h"

#include <ATen/Functions.h>

namespace inlier {

Bert::Bert(const BertOptions& options) : encoder_(ParameterScope(*this), options) {
  const std::int64_t width = options.layer.attention.hidden_size;
  const ParameterScope head = ParameterScope(*this).Child("cls.predictions");
  head_bias_ = head.Create("bias", {options.vocab_size});
  head_dense_ = Linear::Create(head.Child("transform.dense"), width, width);
  NormOptions norm = options.layer.norm;
  norm.gate_rank = 0;  // Of the residual stream's norms alone.
  head_norm_ = Norm::Create(head.Child("transform.LayerNorm"), width, norm);
}

at::Tensor Bert::Encode(const ModelInput& input, ActivationTap* tap) {
  return encoder_(input, ContextOf(input, tap));
}

at::Tensor Bert::HeadInput(const at::Tensor& hidden, const ForwardContext& context) const {
  return head_norm_(Apply(encoder_.options().layer.nonlinearity, head_dense_(hidden, context)), context);
}

LanguageModel::Vocabulary Bert::HeadVocabulary() const { return {encoder_.words(), head_bias_}; }

at::Tensor Bert::Head(const at::Tensor& hidden, ActivationTap*) {
  // The reference's head is float and not measured.
  return at::linear(HeadInput(hidden, ForwardContext()), encoder_.words(), head_bias_);
}

}  // namespace inlier
