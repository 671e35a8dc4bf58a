#include "core/nn/self_attention.h"

#include <ATen/Functions.h>

#include <cmath>
#include <vector>

#include "core/device/device.h"
#include "core/nn/dropout.h"
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
  p = DropOut(p, options_.dropout, context);
  const at::Tensor result = at::bmm(p.view(flat), FlattenHeads(qkv.value));
  if (!style_.tap_context_before_gate) return result.view({batch, heads, tokens, -1});
  return context.Activation(site_, "context_act_quantizer", result).view({batch, heads, tokens, -1});
}

at::Tensor SelfAttention::FastContext(const at::Tensor& x, const AttentionFrame& frame,
                                      const ForwardContext& context) const {
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads;
  const Qkv qkv = Heads(x, frame, context);
  const AttentionMask& mask = frame.mask;
  const double root = std::sqrt(static_cast<double>(options_.hidden_size / heads));
  const at::Tensor q = FlattenHeads(qkv.query) * (1 / root);
  at::Tensor scores = AtLeastFloat32(at::bmm(q, FlattenHeads(qkv.key).transpose(1, 2)));
  scores = scores.view({batch, heads, tokens, tokens});
  if (mask.additive.defined()) scores.add_(mask.additive);
  at::Tensor p = Probabilities(scores, frame);
  p = DropOut(p, options_.dropout, context);
  return at::bmm(p.view({batch * heads, tokens, tokens}), FlattenHeads(qkv.value))
      .view({batch, heads, tokens, -1});
}

bool SelfAttention::can_fuse(fused::Place place) const {
  using Kind = SoftmaxOptions::Kind;
  const bool even = options_.hidden_size / options_.heads % 2 == 0;
  if (place == fused::Place::kCpuBfloat16 && !even) return false;
  if (place == fused::Place::kGpuBfloat16 &&
      !device::CanFuse(options_.hidden_size, options_.heads, options_.kv_heads)) {
    return false;
  }
  switch (options_.softmax.kind) {
    case Kind::kVanilla:
    case Kind::kClipped:
    case Kind::kNcs:
    case Kind::kNullKey:
    case Kind::kSink:
      return true;
    case Kind::kSoftpick:
    case Kind::kSigmoid:
      break;
  }
  return false;
}

void SelfAttention::Describe(const at::Tensor& input, const AttentionFrame& frame,
                             const ForwardContext& context, fused::LayerShape& shape,
                             fused::LayerWeights& weights, fused::LayerInputs& inputs) const {
  using Kind = SoftmaxOptions::Kind;
  const std::int64_t batch = input.size(0), tokens = input.size(1),
                     head_size = options_.hidden_size / options_.heads;
  const SoftmaxOptions& softmax = options_.softmax;
  shape.heads = options_.heads;
  shape.kv_heads = options_.kv_heads;
  shape.attention = {.tokens = tokens,
                     .head_size = head_size,
                     .scale = 1 / std::sqrt(static_cast<double>(head_size)),
                     .causal = frame.mask.causal};
  shape.probabilities = context.NextDropout(options_.dropout);
  for (const Linear& linear : projection_.linears())
    weights.projections.push_back({linear.weight, linear.bias});
  inputs.key_mask = frame.mask.hidden_keys;
  if (frame.rotary.cosine.defined()) {
    inputs.cosine = frame.rotary.cosine.to(input.scalar_type()).contiguous();
    inputs.sine = frame.rotary.sine.to(input.scalar_type()).contiguous();
  }
  switch (softmax.kind) {
    case Kind::kClipped:
    case Kind::kNcs: {
      shape.attention.softmax = fused::SoftmaxKind::kClipped;
      shape.attention.zeta = softmax.zeta;
      if (frame.row_lengths.defined()) {
        const at::Tensor gamma = NcsGamma(softmax.beta, softmax.zeta, frame.row_lengths);
        inputs.row_gamma = gamma.view({gamma.size(0), -1})
                               .expand({gamma.size(0), tokens})
                               .to(input.scalar_type())
                               .contiguous();
      } else {
        inputs.row_gamma = at::full({1, tokens}, softmax.UniformGamma(tokens), input.options());
      }
      break;
    }
    case Kind::kNullKey:
      shape.attention.softmax = fused::SoftmaxKind::kNullKey;
      shape.null_score = softmax.null_score;
      break;
    case Kind::kSink:
      shape.attention.softmax = fused::SoftmaxKind::kNullKey;
      weights.sinks = sinks_;
      break;
    case Kind::kVanilla:
      break;
    case Kind::kSoftpick:
    case Kind::kSigmoid:
      TORCH_CHECK(false, "the fused engine has no softmax of kind ", static_cast<int>(softmax.kind));
  }
  if (!has_gate()) return;
  const at::Tensor factors = gate_.Factors(input, context).squeeze(-1);
  inputs.gate = factors.expand({batch, options_.heads, tokens}).contiguous();
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
