#include "core/nn/self_attention.h"

#include <ATen/Functions.h>

#include <cmath>
#include <vector>

#include "core/nn/precision.h"

namespace inlier {
namespace {

// (B, T, H, h) -> (B*H, T, h)
at::Tensor FlattenHeads(const at::Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0) * x.size(2), x.size(1), x.size(3)});
}

// (B, T, kv_heads, h) -> (B, T, heads, h): query head j reads key head j / (heads / kv_heads).
at::Tensor RepeatHeads(const at::Tensor& x, std::int64_t heads) {
  if (x.size(2) == heads) return x;
  return x.repeat_interleave(heads / x.size(2), 2, heads);
}

}  // namespace

SelfAttention::SelfAttention(const ParameterScope& scope, const AttentionStyle& style,
                             const SelfAttentionOptions& options)
    : style_(style),
      options_(options),
      site_(scope.path()),
      projection_(scope, style.projections, options.hidden_size, options.heads, options.kv_heads,
                  options.linear),
      gate_(scope, "gate", options.hidden_size, options.heads, options.gate) {
  if (options.softmax.kind == SoftmaxOptions::Kind::kSink) sinks_ = scope.Create("sinks", {options.heads});
}

Qkv SelfAttention::Heads(const at::Tensor& x, const AttentionFrame& frame,
                         const ForwardContext& context) const {
  const std::int64_t head_size = options_.hidden_size / options_.heads;
  const Qkv flat = projection_(x, context);
  const auto by_head = [head_size](const at::Tensor& part) {
    return part.unflatten(-1, {part.size(-1) / head_size, head_size});
  };
  return {Rotate(by_head(flat.query), frame.rotary),
          RepeatHeads(Rotate(by_head(flat.key), frame.rotary), options_.heads),
          RepeatHeads(by_head(flat.value), options_.heads)};
}

at::Tensor SelfAttention::Probabilities(const at::Tensor& scores, const AttentionFrame& frame) const {
  RowInfo row{.lengths = frame.row_lengths, .null_score = {}};
  if (sinks_.defined()) row.null_score = sinks_.view({1, -1, 1, 1});
  return AttentionProbabilities(scores, options_.softmax, row);
}

at::Tensor SelfAttention::TappedContext(const at::Tensor& x, const AttentionFrame& frame,
                                        const ForwardContext& context) const {
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads;
  const std::vector<std::int64_t> flat = {batch * heads, tokens, tokens};
  const std::vector<std::int64_t> by_head = {batch, heads, tokens, tokens};
  const double root = std::sqrt(static_cast<double>(options_.hidden_size / heads));
  Qkv qkv = Heads(x, frame, context);
  if (style_.scale_query) qkv.query = qkv.query * (1 / root);
  at::Tensor scores = AtLeastFloat32(at::bmm(FlattenHeads(qkv.query), FlattenHeads(qkv.key).transpose(1, 2)));
  if (!style_.scale_query) scores = scores / root;
  scores =
      context.Activation(site_, "attn_scores_act_quantizer", scores.view(style_.flat_heads ? flat : by_head));
  scores = scores.view(by_head);
  if (frame.mask.additive.defined()) scores = scores + frame.mask.additive;

  at::Tensor p = Probabilities(scores, frame);
  p = context.Activation(site_, "attn_probs_act_quantizer", p.view(style_.flat_heads ? flat : by_head));
  p = context.Activation(site_, "probs", p.view(by_head));
  if (context.training && options_.dropout > 0) p = at::dropout(p, options_.dropout, true);
  const at::Tensor result = at::bmm(p.view(flat), FlattenHeads(qkv.value));
  if (!style_.tap_context_before_gate) return result.view({batch, heads, tokens, -1});
  return context.Activation(site_, "context_act_quantizer", result).view({batch, heads, tokens, -1});
}

at::Tensor SelfAttention::FastContext(const at::Tensor& x, const AttentionFrame& frame,
                                      const ForwardContext& context) const {
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads;
  const Qkv qkv = Heads(x, frame, context);
  const bool drops = context.training && options_.dropout > 0;
  const AttentionMask& mask = frame.mask;
  // The fused kernel never writes the probabilities to memory: on one core 8 % (T = 64) to 24 % (T = 128,
  // causal) less time for the whole block, forward and backward.
  if (options_.softmax.kind == SoftmaxOptions::Kind::kVanilla && !drops &&
      (mask.causal_only || !mask.additive.defined())) {
    return at::scaled_dot_product_attention(qkv.query.transpose(1, 2), qkv.key.transpose(1, 2),
                                            qkv.value.transpose(1, 2), {}, /*dropout_p=*/0, mask.causal_only);
  }
  const double root = std::sqrt(static_cast<double>(options_.hidden_size / heads));
  const at::Tensor q = FlattenHeads(qkv.query) * (1 / root);
  at::Tensor scores = AtLeastFloat32(at::bmm(q, FlattenHeads(qkv.key).transpose(1, 2)));
  scores = scores.view({batch, heads, tokens, tokens});
  if (mask.additive.defined()) scores.add_(mask.additive);
  at::Tensor p = Probabilities(scores, frame);
  if (drops) p = at::dropout(p, options_.dropout, true);
  return at::bmm(p.view({batch * heads, tokens, tokens}), FlattenHeads(qkv.value))
      .view({batch, heads, tokens, -1});
}

at::Tensor SelfAttention::operator()(const at::Tensor& x, const AttentionFrame& frame,
                                     const ForwardContext& context) const {
  at::Tensor result =
      context.tap == nullptr ? FastContext(x, frame, context) : TappedContext(x, frame, context);
  result = gate_.Apply(result, x, context);
  result = result.transpose(1, 2).reshape(x.sizes());
  if (!style_.tap_context_before_gate) result = context.Activation(site_, "context_act_quantizer", result);
  return context.Activation(site_, "context", result);
}

}  // namespace inlier
