#include "core/models/bert_encoder.h"

#include <ATen/Functions.h>

#include <string>

#include "core/nn/dropout.h"

namespace inlier {

BertEncoder::BertEncoder(const ParameterScope& root, const BertOptions& options)
    : options_(options), frame_(FrameOptionsOf(options.layer, options.position, /*causal=*/false)) {
  const std::int64_t width = options.layer.attention.hidden_size;
  const NormOptions& norm = options.layer.norm;
  const ParameterScope embeddings = root.Child("bert.embeddings");
  words_ = embeddings.Child("word_embeddings").Create("weight", {options.vocab_size, width});
  if (options.position.kind == PositionOptions::Kind::kLearned) {
    positions_ = embeddings.Child("position_embeddings").Create("weight", {options.max_positions, width});
  }
  token_types_ = embeddings.Child("token_type_embeddings").Create("weight", {2, width});
  embedding_norm_ = Norm::Create(embeddings.Child("LayerNorm"), width, norm);
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(root.Child("bert.encoder.layer." + std::to_string(i)), kBertLayerStyle,
                         AtLayer(options.layer, i));
  }
  if (options.layer.pre_norm)
    final_norm_.push_back(Norm::Create(root.Child("bert.encoder.LayerNorm"), width, norm));
}

at::Tensor BertEncoder::Embed(const ModelInput& input, const ForwardContext& context) const {
  static const std::string kScope = "bert.embeddings";
  const std::int64_t tokens = input.ids.size(1);
  CheckLengthFits(tokens, options_.max_positions, "bert");
  const at::Tensor words =
      at::embedding(context.Weight(kScope + ".word_embeddings", words_), input.ids, kBertPadId);
  const at::Tensor type_table = context.Weight(kScope + ".token_type_embeddings", token_types_);
  const at::Tensor types =
      input.token_type_ids.defined() ? at::embedding(type_table, input.token_type_ids) : type_table[0];
  at::Tensor sum = context.Activation(kScope, "sum_input_token_type_embd_act_quantizer", words + types);
  if (positions_.defined()) {
    const at::Tensor position_table = context.Weight(kScope + ".position_embeddings", positions_);
    sum = context.Activation(kScope, "sum_pos_embd_act_quantizer", sum + position_table.slice(0, 0, tokens));
  }
  at::Tensor x = embedding_norm_(sum, context);
  return DropOut(x, options_.layer.dropout, context);
}

at::Tensor BertEncoder::operator()(const ModelInput& input, const ForwardContext& context) const {
  const at::Tensor x = Embed(input, context);
  const AttentionFrame frame =
      MakeAttentionFrame(frame_, input.attention_mask, input.ids.size(1), x.options());
  return RunLayers(layers_, final_norm_, x, frame, context);
}

}  // namespace inlier
