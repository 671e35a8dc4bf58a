#include "core/nn/self_attention.h"

#include <ATen/Functions.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/nn/precision.h"

namespace inlier {

SelfAttention::SelfAttention(const ParameterScope& scope, const AttentionStyle& style,
                             const SelfAttentionOptions& options)
    : style_(style),
      options_(options),
      site_(scope.path()),
      query_(Linear::Create(scope.Child(style.query), options.hidden_size, options.hidden_size)),
      key_(Linear::Create(scope.Child(style.key), options.hidden_size, options.hidden_size)),
      value_(Linear::Create(scope.Child(style.value), options.hidden_size, options.hidden_size)),
      gate_(scope, "gate", options.hidden_size, options.heads, options.gate) {}

at::Tensor SelfAttention::FlattenHeads(const at::Tensor& x) const {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1), x.size(3)});
}

at::Tensor SelfAttention::TappedContext(const at::Tensor& x, const AttentionMask& mask,
                                        const ForwardContext& context) const {
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads;
  const std::vector<std::int64_t> split = {batch, tokens, heads, x.size(2) / heads};
  const std::vector<std::int64_t> flat = {batch * heads, tokens, tokens};
  const std::vector<std::int64_t> by_head = {batch, heads, tokens, tokens};
  const double root = std::sqrt(static_cast<double>(split[3]));
  at::Tensor q = query_(x, context);
  const at::Tensor k = key_(x, context);
  const at::Tensor v = value_(x, context);
  if (style_.scale_query) q = q * (1 / root);
  at::Tensor scores =
      AtLeastFloat32(at::bmm(FlattenHeads(q.view(split)), FlattenHeads(k.view(split)).transpose(1, 2)));
  if (!style_.scale_query) scores = scores / root;
  scores =
      context.Activation(site_, "attn_scores_act_quantizer", scores.view(style_.flat_heads ? flat : by_head));
  scores = scores.view(by_head);
  if (mask.additive.defined()) scores = scores + mask.additive;

  at::Tensor p = AttentionProbabilities(scores, options_.softmax);
  p = context.Activation(site_, "attn_probs_act_quantizer", p.view(style_.flat_heads ? flat : by_head));
  p = context.Activation(site_, "probs", p.view(by_head));
  if (context.training && options_.dropout > 0) p = at::dropout(p, options_.dropout, true);
  const at::Tensor result = at::bmm(p.view(flat), FlattenHeads(v.view(split)));
  if (!style_.tap_context_before_gate) return result.view({batch, heads, tokens, -1});
  return context.Activation(site_, "context_act_quantizer", result).view({batch, heads, tokens, -1});
}

at::Tensor SelfAttention::FastContext(const at::Tensor& x, const AttentionMask& mask, bool training) const {
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads;
  // One product for all three; joining the weights costs little beside it.
  const at::Tensor joined = at::linear(x, at::cat({query_.weight, key_.weight, value_.weight}),
                                       at::cat({query_.bias, key_.bias, value_.bias}));
  const std::vector<at::Tensor> qkv = joined.view({batch, tokens, 3, heads, -1}).unbind(2);
  const bool drops = training && options_.dropout > 0;
  // The fused kernel never writes the probabilities to memory: on one core 8 % (T = 64) to 24 % (T = 128,
  // causal) less time for the whole block, forward and backward.
  if (options_.softmax.kind == SoftmaxOptions::Kind::kVanilla && !drops &&
      (mask.causal_only || !mask.additive.defined())) {
    return at::scaled_dot_product_attention(qkv[0].transpose(1, 2), qkv[1].transpose(1, 2),
                                            qkv[2].transpose(1, 2), {}, /*dropout_p=*/0, mask.causal_only);
  }
  const at::Tensor q = FlattenHeads(qkv[0]) * (1 / std::sqrt(static_cast<double>(x.size(2) / heads)));
  at::Tensor scores = AtLeastFloat32(at::bmm(q, FlattenHeads(qkv[1]).transpose(1, 2)));
  scores = scores.view({batch, heads, tokens, tokens});
  if (mask.additive.defined()) scores.add_(mask.additive);
  at::Tensor p = AttentionProbabilities(scores, options_.softmax);
  if (drops) p = at::dropout(p, options_.dropout, true);
  return at::bmm(p.view({batch * heads, tokens, tokens}), FlattenHeads(qkv[2]))
      .view({batch, heads, tokens, -1});
}

at::Tensor SelfAttention::operator()(const at::Tensor& x, const AttentionMask& mask,
                                     const ForwardContext& context) const {
  at::Tensor result =
      context.tap == nullptr ? FastContext(x, mask, context.training) : TappedContext(x, mask, context);
  result = gate_.Apply(result, x, context);
  result = result.transpose(1, 2).reshape(x.sizes());
  if (!style_.tap_context_before_gate) result = context.Activation(site_, "context_act_quantizer", result);
  return context.Activation(site_, "context", result);
}

AttentionMask MakeAttentionMask(const at::Tensor& attention_mask, std::int64_t tokens, bool causal,
                                const at::TensorOptions& options) {
  at::Tensor hidden;
  if (attention_mask.defined()) hidden = attention_mask.eq(0).view({-1, 1, 1, tokens});
  if (causal) {
    const auto flags = at::TensorOptions().dtype(at::kBool).device(options.device());
    const at::Tensor future = at::ones({1, 1, tokens, tokens}, flags).triu(1);
    hidden = hidden.defined() ? hidden.logical_or(future) : future;
  }
  if (!hidden.defined()) return {};
  const double lowest = options.dtype() == at::kDouble ? std::numeric_limits<double>::lowest()
                                                       : std::numeric_limits<float>::lowest();
  return {.additive = at::zeros(hidden.sizes(), options).masked_fill_(hidden, lowest),
          .causal_only = causal && !attention_mask.defined()};
}

}  // namespace inlier
