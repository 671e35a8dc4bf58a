#include "core/models/opt.h"

#include <ATen/Functions.h>

#include "core/models/sites.h"

namespace inlier {

constexpr std::int64_t kUnusedPositionRows = 2;

Opt::Opt(const OptOptions& options)
    : options_(options), frame_(FrameOptionsOf(options.layer, PositionOptions(), /*causal=*/true)) {
  const ParameterScope decoder = ParameterScope(*this).Child("model.decoder");
  const std::int64_t width = options.layer.attention.hidden_size;
  tokens_ = decoder.Child("embed_tokens").Create("weight", {options.vocab_size, options.embedding_size});
  positions_ =
      decoder.Child("embed_positions").Create("weight", {options.max_positions + kUnusedPositionRows, width});
  if (options.embedding_size != width) {
    project_in_.push_back(
        Linear::Create(decoder.Child("project_in"), options.embedding_size, width, {.bias = false}));
    project_out_.push_back(
        Linear::Create(decoder.Child("project_out"), width, options.embedding_size, {.bias = false}));
  }
  if (options.layer.pre_norm) {
    final_norm_.push_back(Norm::Create(decoder.Child("final_layer_norm"), width, options.layer.norm));
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(decoder.Child("layers." + std::to_string(i)), kOptLayerStyle,
                         AtLayer(options.layer, i));
  }
}

at::Tensor Opt::Embed(const ModelInput& input, const ForwardContext& context) const {
  static const std::string kScope = "model.decoder";
  const std::int64_t tokens = input.ids.size(1);
  CheckLengthFits(tokens, max_positions(), "opt");
  at::Tensor x = at::embedding(context.Weight(kScope + ".embed_tokens", tokens_), input.ids, pad_id());
  const at::Tensor table = context.Weight(kScope + ".embed_positions.quant_embedding", positions_);
  at::Tensor positions;
  if (input.attention_mask.defined()) {
    const at::Tensor mask = input.attention_mask.to(at::kLong);
    positions = at::embedding(table, mask.cumsum(1) * mask + (kUnusedPositionRows - 1));
  } else {
    positions = table.slice(0, kUnusedPositionRows, kUnusedPositionRows + tokens);
  }
  if (!project_in_.empty()) x = project_in_[0](x, context);
  return context.Activation(kScope, "embed_sum_act_quantizer", x + positions);
}

at::Tensor Opt::Encode(const ModelInput& input, ActivationTap* tap) {
  const ForwardContext context = ContextOf(input, tap);
  at::Tensor x = context.Activation("hidden.0", Embed(input, context));
  const AttentionFrame frame =
      MakeAttentionFrame(frame_, input.attention_mask, input.ids.size(1), x.options(), input.ids);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i](x, frame, context);
    if (i + 1 < layers_.size()) x = context.Activation("hidden", std::to_string(i + 1).c_str(), x);
  }
  if (!final_norm_.empty()) x = final_norm_[0](x, context);
  if (!project_out_.empty()) x = project_out_[0](x, context);
  return context.Activation("hidden", std::to_string(layers_.size()).c_str(), x);
}

at::Tensor Opt::Head(const at::Tensor& hidden, ActivationTap* tap) {
  const ForwardContext context{.tap = tap, .training = is_training()};
  static const std::string kSite(kTiedHeadSite);
  return context.Activation(kSite, LinearProduct(kSite, hidden, tokens_, context));
}

}  // namespace inlier
