#include "core/nn/transformer_layer.h"

#include <ATen/Functions.h>

namespace inlier {

const LayerStyle kBertLayerStyle = {
    .attention = {.query = "query",
                  .key = "key",
                  .value = "value",
                  .scale_query = false,
                  .flat_heads = false,
                  .tap_context_before_gate = false},
    .attention_scope = "attention.self",
    .attention_output = "attention.output.dense",
    .attention_norm = "attention.output.LayerNorm",
    .attention_residual_site = "attention.output.res_act_quantizer",
    .ffn_input = "intermediate.dense",
    .ffn_input_site = "intermediate.0",
    .ffn_output = "output.dense",
    .ffn_norm = "output.LayerNorm",
    .ffn_norm_input_site = "output.LayerNorm.input",
    .ffn_residual_site = "output.res_act_quantizer",
    .flat_tokens = false,
    .observe_layer_output = false,
};

const LayerStyle kOptLayerStyle = {
    .attention = {.query = "q_proj",
                  .key = "k_proj",
                  .value = "v_proj",
                  .scale_query = true,
                  .flat_heads = true,
                  .tap_context_before_gate = true},
    .attention_scope = "self_attn",
    .attention_output = "self_attn.out_proj",
    .attention_norm = "self_attn_layer_norm",
    .attention_residual_site = "self_attn_res_act_quantizer",
    .ffn_input = "fc1",
    .ffn_input_site = "fc1_act",
    .ffn_output = "fc2",
    .ffn_norm = "final_layer_norm",
    .ffn_norm_input_site = nullptr,
    .ffn_residual_site = "ffn_res_act_quantizer",
    .flat_tokens = true,
    .observe_layer_output = true,
};

TransformerLayer::TransformerLayer(const ParameterScope& scope, const LayerStyle& style,
                                   const LayerOptions& options)
    : style_(style),
      options_(options),
      site_(scope.path()),
      attention_(scope.Child(style.attention_scope), style.attention, options.attention),
      attention_output_(Linear::Create(scope.Child(style.attention_output), options.attention.hidden_size,
                                       options.attention.hidden_size)),
      attention_norm_(LayerNorm::Create(scope.Child(style.attention_norm), options.attention.hidden_size,
                                        options.norm_epsilon)),
      ffn_input_(
          Linear::Create(scope.Child(style.ffn_input), options.attention.hidden_size, options.ffn_size)),
      ffn_output_(
          Linear::Create(scope.Child(style.ffn_output), options.ffn_size, options.attention.hidden_size)),
      ffn_norm_(LayerNorm::Create(scope.Child(style.ffn_norm), options.attention.hidden_size,
                                  options.norm_epsilon)) {
  ffn_input_.site = scope.Name(style.ffn_input_site);
}

at::Tensor TransformerLayer::AddTo(const at::Tensor& x, const at::Tensor& update,
                                   const ForwardContext& context) const {
  if (context.training && options_.dropout > 0) return x + at::dropout(update, options_.dropout, true);
  return x + update;
}

at::Tensor TransformerLayer::operator()(const at::Tensor& x, const AttentionMask& mask,
                                        const ForwardContext& context) const {
  at::Tensor update = attention_output_(
      attention_(options_.pre_norm ? attention_norm_(x, context) : x, mask, context), context);
  at::Tensor sum = context.Activation(site_, style_.attention_residual_site, AddTo(x, update, context));
  if (!options_.pre_norm) sum = attention_norm_(sum, context);

  const std::vector<std::int64_t> shape = sum.sizes().vec();
  if (style_.flat_tokens) sum = sum.view({-1, shape.back()});
  const auto norm = [&](const at::Tensor& input) {
    if (style_.ffn_norm_input_site == nullptr) return ffn_norm_(input, context);
    return ffn_norm_(context.Activation(site_, style_.ffn_norm_input_site, input), context);
  };
  update = Apply(options_.nonlinearity, ffn_input_.Product(options_.pre_norm ? norm(sum) : sum, context));
  update = ffn_output_(context.Activation(ffn_input_.site, update), context);
  sum = context.Activation(site_, style_.ffn_residual_site, AddTo(sum, update, context)).view(shape);
  if (!options_.pre_norm) sum = norm(sum);
  return style_.observe_layer_output ? context.Activation(site_, sum) : sum;
}

}  // namespace inlier
