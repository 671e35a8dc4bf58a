#include "core/nn/transformer_layer.h"

#include <vector>

#include "core/nn/dropout.h"
#include "core/nn/fused_layer.h"

namespace inlier {
namespace {

// All linears of a layer have the same layout.
LayerOptions WithLayout(LayerOptions options, const LayerStyle& style) {
  options.attention.linear.layout = style.weight_layout;
  return options;
}

// `x` itself where there is no norm.
at::Tensor Normed(const Norm& norm, const at::Tensor& x, const ForwardContext& context) {
  return norm.gain.defined() ? norm(x, context) : x;
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
  attention_output_ =
      Linear::Create(scope.Child(style.attention_output),
                     options_.attention.heads * options_.attention.head_width(), width, linear);
  if (options_.attention_norm)
    attention_norm_ = Norm::Create(scope.Child(style.attention_norm), width, options_.norm);
  LinearOptions ffn = linear;
  ffn.bias = options_.ffn_bias.value_or(linear.bias);
  if (style.ffn_gate != nullptr && options_.gated_ffn)
    ffn_gate_ = Linear::Create(scope.Child(style.ffn_gate), width, options_.ffn_size, ffn);
  ffn_input_ = Linear::Create(scope.Child(style.ffn_input), width, options_.ffn_size, ffn);
  if (style.ffn_input_site != nullptr) ffn_input_.site = scope.Name(style.ffn_input_site);
  ffn_output_ = Linear::Create(scope.Child(style.ffn_output), options_.ffn_size, width, ffn);
  if (options_.ffn_norm) ffn_norm_ = Norm::Create(scope.Child(style.ffn_norm), width, options_.norm);
  if (!options_.output_norms) return;
  attention_output_norm_ = Norm::Create(scope.Child("attention_output_layernorm"), width, options_.norm);
  ffn_output_norm_ = Norm::Create(scope.Child("ffn_output_layernorm"), width, options_.norm);
}

at::Tensor TransformerLayer::AddTo(const at::Tensor& x, const at::Tensor& update,
                                   const ForwardContext& context) const {
  const at::Tensor added = DropOut(update, options_.dropout, context);
  return options_.residual_gain == 1 ? x + added : x + options_.residual_gain * added;
}

at::Tensor TransformerLayer::Attend(const at::Tensor& x, const AttentionFrame& frame,
                                    const ForwardContext& context) const {
  const at::Tensor input = options_.pre_norm ? Normed(attention_norm_, x, context) : x;
  at::Tensor update = attention_output_(attention_(input, frame, context), context);
  update = Normed(attention_output_norm_, attention_.GateOutput(update, input, context), context);
  const at::Tensor sum = context.Activation(site_, style_.attention_residual_site, AddTo(x, update, context));
  return options_.pre_norm ? sum : attention_norm_(sum, context);
}

at::Tensor TransformerLayer::FfnNorm(const at::Tensor& x, const ForwardContext& context) const {
  if (style_.ffn_norm_input_site == nullptr) return Normed(ffn_norm_, x, context);
  return Normed(ffn_norm_, context.Activation(site_, style_.ffn_norm_input_site, x), context);
}

at::Tensor TransformerLayer::FeedForward(const at::Tensor& x, const ForwardContext& context) const {
  at::Tensor inner = ffn_input_.Product(x, context);
  inner = ffn_gate_.weight.defined() ? Apply(options_.nonlinearity, ffn_gate_.Product(x, context)) * inner
                                     : Apply(options_.nonlinearity, inner);
  return ffn_output_(context.Activation(site_, style_.ffn_activation_site, inner), context);
}

bool TransformerLayer::can_fuse(layer::Place place) const {
  const bool even = options_.attention.hidden_size % 2 == 0 && options_.ffn_size % 2 == 0;
  const bool common = !options_.output_norms && options_.attention_norm && options_.ffn_norm &&
                      options_.residual_gain == 1 && !options_.parallel;
  return common && attention_.can_fuse(place) && options_.norm.can_fuse() &&
         (place != layer::Place::kCpuBfloat16 || even);
}

at::Tensor TransformerLayer::Fused(const at::Tensor& x, const AttentionFrame& frame,
                                   const ForwardContext& context) const {
  const auto linear = [](const Linear& part) { return layer::Linear{part.weight, part.bias}; };
  const auto norm = [](const Norm& part) { return layer::Norm{part.gain, part.offset}; };
  layer::Call call{.shape = {.batch = x.size(0),
                             .tokens = x.size(1),
                             .width = x.size(2),
                             .ffn = options_.ffn_size,
                             .in_out = style_.weight_layout == WeightLayout::kInOut,
                             .pre_norm = options_.pre_norm,
                             .norm = options_.norm.kind,
                             .epsilon = options_.norm.epsilon,
                             .activation = options_.nonlinearity},
                   .weights = {.output = linear(attention_output_),
                               .ffn_gate = linear(ffn_gate_),
                               .ffn_input = linear(ffn_input_),
                               .ffn_output = linear(ffn_output_),
                               .attention_norm = norm(attention_norm_),
                               .ffn_norm = norm(ffn_norm_)},
                   .inputs = {.x = x.contiguous()},
                   .products = context.products};
  layer::Shape& shape = call.shape;
  at::Tensor attention_input = call.inputs.x;
  if (options_.pre_norm && attention_.has_gate()) {
    // The gate reads the norm's output too, so that the norm is a node of its own.
    attention_input = call.inputs.attention_input = attention_norm_(x, context);
    call.weights.attention_norm = {};
  }
  attention_.Describe(attention_input, frame, context, call);
  shape.attention_dropout = context.NextDropout(options_.dropout, shape.tokens);
  shape.ffn_dropout = context.NextDropout(options_.dropout, shape.tokens);
  if (context.ffn_penalty != nullptr) shape.ffn_penalty = context.ffn_penalty->scaled();
  const layer::Result result = FusedLayer(std::move(call));
  if (context.ffn_penalty != nullptr) context.ffn_penalty->AddMean(result.ffn_penalty);
  return result.y;
}

at::Tensor TransformerLayer::operator()(const at::Tensor& x, const AttentionFrame& frame,
                                        const ForwardContext& context) const {
  if (context.products != layer::Products::kReference && context.tap == nullptr && !frame.mask.has_empty_rows)
    return Fused(x, frame, context);
  at::Tensor sum = Attend(x, frame, context);
  const std::vector<std::int64_t> shape = sum.sizes().vec();
  if (style_.flat_tokens) sum = sum.view({-1, shape.back()});
  const at::Tensor source = options_.parallel ? x.reshape(sum.sizes()) : sum;
  at::Tensor update = FeedForward(options_.pre_norm ? FfnNorm(source, context) : source, context);
  if (context.ffn_penalty != nullptr) context.ffn_penalty->AddOutput(update);
  update = Normed(ffn_output_norm_, update, context);
  sum = context.Activation(site_, style_.ffn_residual_site, AddTo(sum, update, context)).view(shape);
  if (!options_.pre_norm) sum = FfnNorm(sum, context);
  return style_.observe_layer_output ? context.Activation(site_, sum) : sum;
}

}  // namespace inlier
