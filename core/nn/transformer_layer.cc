#include "core/nn/transformer_layer.h"

#include <ATen/Functions.h>

#include <vector>

namespace inlier {
namespace {

// All linears of a layer have the same layout, and all of them or none have a bias.
LayerOptions WithLayout(LayerOptions options, const LayerStyle& style) {
  options.attention.linear.layout = style.weight_layout;
  return options;
}

}  // namespace

TransformerLayer::TransformerLayer(const ParameterScope& scope, const LayerStyle& style,
                                   const LayerOptions& options)
    : style_(style),
      options_(WithLayout(options, style)),
      site_(scope.path()),
      attention_(scope.Child(style.attention_scope), style.attention, options_.attention) {
  const std::int64_t width = options_.attention.hidden_size;
  const LinearOptions& linear = options_.attention.linear;
  attention_output_ = Linear::Create(scope.Child(style.attention_output), width, width, linear);
  attention_norm_ = Norm::Create(scope.Child(style.attention_norm), width, options_.norm);
  if (style.ffn_gate != nullptr)
    ffn_gate_ = Linear::Create(scope.Child(style.ffn_gate), width, options_.ffn_size, linear);
  ffn_input_ = Linear::Create(scope.Child(style.ffn_input), width, options_.ffn_size, linear);
  if (style.ffn_input_site != nullptr) ffn_input_.site = scope.Name(style.ffn_input_site);
  ffn_output_ = Linear::Create(scope.Child(style.ffn_output), options_.ffn_size, width, linear);
  ffn_norm_ = Norm::Create(scope.Child(style.ffn_norm), width, options_.norm);
}

at::Tensor TransformerLayer::AddTo(const at::Tensor& x, const at::Tensor& update,
                                   const ForwardContext& context) const {
  if (context.training && options_.dropout > 0) return x + at::dropout(update, options_.dropout, true);
  return x + update;
}

at::Tensor TransformerLayer::Attend(const at::Tensor& x, const AttentionFrame& frame,
                                    const ForwardContext& context) const {
  const at::Tensor input = options_.pre_norm ? attention_norm_(x, context) : x;
  const at::Tensor update = attention_output_(attention_(input, frame, context), context);
  const at::Tensor sum = context.Activation(site_, style_.attention_residual_site, AddTo(x, update, context));
  return options_.pre_norm ? sum : attention_norm_(sum, context);
}

at::Tensor TransformerLayer::FfnNorm(const at::Tensor& x, const ForwardContext& context) const {
  if (style_.ffn_norm_input_site == nullptr) return ffn_norm_(x, context);
  return ffn_norm_(context.Activation(site_, style_.ffn_norm_input_site, x), context);
}

at::Tensor TransformerLayer::FeedForward(const at::Tensor& x, const ForwardContext& context) const {
  at::Tensor inner = ffn_input_.Product(x, context);
  inner = ffn_gate_.weight.defined() ? Apply(options_.nonlinearity, ffn_gate_.Product(x, context)) * inner
                                     : Apply(options_.nonlinearity, inner);
  return ffn_output_(context.Activation(site_, style_.ffn_activation_site, inner), context);
}

at::Tensor TransformerLayer::operator()(const at::Tensor& x, const AttentionFrame& frame,
                                        const ForwardContext& context) const {
  at::Tensor sum = Attend(x, frame, context);
  const std::vector<std::int64_t> shape = sum.sizes().vec();
  if (style_.flat_tokens) sum = sum.view({-1, shape.back()});
  const at::Tensor update = FeedForward(options_.pre_norm ? FfnNorm(sum, context) : sum, context);
  sum = context.Activation(site_, style_.ffn_residual_site, AddTo(sum, update, context)).view(shape);
  if (!options_.pre_norm) sum = FfnNorm(sum, context);
  return style_.observe_layer_output ? context.Activation(site_, sum) : sum;
}

}  // namespace inlier
