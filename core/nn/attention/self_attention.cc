#include "core/nn/attention/self_attention.h"

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>
#include <vector>

#include "core/layer_cuda/layer.h"
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

// (B, T, kv_heads, h), and behind the tokens, where there is one, a bias (kv_heads, h): (B, T + 1, kv_heads, h).
at::Tensor WithBias(const at::Tensor& x, const at::Tensor& bias) {
  if (!bias.defined()) return x;
  return at::cat({x, bias.to(x.scalar_type()).expand({x.size(0), 1, x.size(2), x.size(3)})}, 1);
}

// window (T, T) -> (T, K) for values or scores of K keys: a bias behind the tokens is not cached.
at::Tensor OfKeys(const at::Tensor& window, const at::Tensor& scores) {
  return at::constant_pad_nd(window.to(scores.device()), {0, scores.size(-1) - window.size(1)}, true);
}

// query (n, T, h) and key (n, K, h) -> (n, T, K), in float32 at least. Under autocast the factors are rounded as those of
// every product, but not the scores: at::bmm would round a score of 256 to a whole number.
at::Tensor Scores(const at::Tensor& query, const at::Tensor& key) {
  const c10::DeviceType device = query.device().type();
  if (!at::autocast::is_autocast_enabled(device) || query.scalar_type() == at::kDouble)
    return AtLeastFloat32(at::bmm(query, key.transpose(1, 2)));
  const at::ScalarType narrow = at::autocast::get_autocast_dtype(device);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return at::bmm(query.to(narrow).to(at::kFloat), key.to(narrow).to(at::kFloat).transpose(1, 2));
}

// kContext where there is none, for the gates that are not projected.
layer::GatedPart GatedPartOf(const ProjectedGate& gate) {
  using Place = ProjectedGate::Place;
  if (gate.is_at(Place::kQuery)) return layer::GatedPart::kQuery;
  if (gate.is_at(Place::kKey)) return layer::GatedPart::kKey;
  if (gate.is_at(Place::kValue)) return layer::GatedPart::kValue;
  return gate.is_at(Place::kOutput) ? layer::GatedPart::kOutput : layer::GatedPart::kContext;
}

LinearOptions ProjectionOptions(const SelfAttentionOptions& options) {
  LinearOptions linear = options.linear;
  linear.bias = options.qkv_bias.value_or(linear.bias);
  return linear;
}

}  // namespace

SelfAttention::SelfAttention(const ParameterScope& scope, const AttentionStyle& style,
                             const SelfAttentionOptions& options)
    : style_(style),
      options_(options),
      site_(scope.path()),
      projection_(scope, style.projections, options.hidden_size, options.heads * options.head_width(),
                  options.kv_heads * options.head_width(), ProjectionOptions(options)),
      gate_(scope, "gate", options.hidden_size, options.heads, options.gate),
      projected_gate_(scope, "gate", options.hidden_size, options.heads, options.kv_heads,
                      options.projected_gate),
      query_key_norm_(scope, options.head_width(), options.query_key_norm) {
  if (options.softmax.kind == SoftmaxOptions::Kind::kSink) sinks_ = scope.Create("sinks", {options.heads});
  if (options.softmax.script != nullptr) scope.Child("softmax").Adopt(*options.softmax.script);
  if (!options.key_value_bias) return;
  key_bias_ = scope.Create("bias_k", {options.kv_heads, head_size()});
  value_bias_ = scope.Create("bias_v", {options.kv_heads, head_size()});
}

Qkv SelfAttention::Heads(const at::Tensor& x, const AttentionFrame& frame, const ForwardContext& context,
                         Qkv* exact) const {
  using Place = ProjectedGate::Place;
  const Qkv flat = projection_(x, context);
  const auto by_head = [&](const at::Tensor& part, Place place) {
    return projected_gate_.Apply(place, part.unflatten(-1, {part.size(-1) / head_size(), head_size()}), x,
                                 context);
  };
  const at::Tensor query = query_key_norm_.OfQueries(by_head(flat.query, Place::kQuery), context);
  at::Tensor key = query_key_norm_.OfKeys(by_head(flat.key, Place::kKey), context);
  key = Rotate(key, frame.rotary);
  at::Tensor value = by_head(flat.value, Place::kValue);
  const auto for_queries = [&] {
    return Qkv{Rotate(query, frame.rotary), RepeatHeads(WithBias(key, key_bias_), options_.heads),
               RepeatHeads(WithBias(value, value_bias_), options_.heads)};
  };
  if (exact != nullptr) *exact = for_queries();
  if (context.tap != nullptr) {
    key = context.tap->OnKeys(site_, key);
    value = context.tap->OnValues(site_, value);
  }
  return for_queries();
}

double SelfAttention::score_root() const {
  return std::sqrt(options_.score_size > 0 ? options_.score_size : static_cast<double>(head_size()));
}

at::Tensor SelfAttention::Probabilities(const at::Tensor& scores, const AttentionFrame& frame) const {
  RowInfo row{.lengths = frame.row_lengths,
              .null_score = {},
              .visible = MaskOf(frame).visible,
              .added_keys = options_.key_value_bias ? 1 : 0};
  if (sinks_.defined()) row.null_score = sinks_.view({1, -1, 1, 1});
  return AttentionProbabilities(scores, options_.softmax, row);
}

at::Tensor SelfAttention::TappedContext(const at::Tensor& x, const AttentionFrame& frame,
                                        const ForwardContext& context) const {
  const CacheWindow window = context.tap->WindowOf(x.size(1));
  Qkv exact, qkv = Heads(x, frame, context, window.keys.defined() ? &exact : nullptr);
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads, keys = qkv.key.size(1);
  const std::vector<std::int64_t> flat = {batch * heads, tokens, keys};
  const std::vector<std::int64_t> by_head = {batch, heads, tokens, keys};
  const at::Tensor& mask = MaskOf(frame).additive;
  const double root = score_root();
  if (style_.scale_query) qkv.query = qkv.query * (1 / root);
  at::Tensor scores = Scores(FlattenHeads(qkv.query), FlattenHeads(qkv.key));
  if (window.keys.defined())
    scores = at::where(OfKeys(window.keys, scores), Scores(FlattenHeads(qkv.query), FlattenHeads(exact.key)),
                       scores);
  if (!style_.scale_query) scores = scores / root;
  scores = Capped(scores, options_.score_cap);
  scores =
      context.Activation(site_, "attn_scores_act_quantizer", scores.view(style_.flat_heads ? flat : by_head));
  scores = scores.view(by_head);
  if (mask.defined()) scores = scores + mask;

  at::Tensor p = Probabilities(scores, frame);
  p = context.Activation(site_, "attn_probs_act_quantizer", p.view(style_.flat_heads ? flat : by_head));
  if (const at::Tensor& unseen = MaskOf(frame).unseen; unseen.defined()) context.tap->OnUnseenKeys(unseen);
  p = context.Activation(site_, "probs", p.view(by_head));
  p = DropOut(p, options_.dropout, context);
  at::Tensor result;
  if (window.values.defined()) {
    const at::Tensor of_rounded = p.view(flat).masked_fill(OfKeys(window.values, p), 0);
    result = at::bmm(of_rounded, FlattenHeads(qkv.value)) +
             at::bmm(p.view(flat) - of_rounded, FlattenHeads(exact.value));
  } else {
    result = at::bmm(p.view(flat), FlattenHeads(qkv.value));
  }
  if (!style_.tap_context_before_gate) return result.view({batch, heads, tokens, -1});
  return context.Activation(site_, "context_act_quantizer", result).view({batch, heads, tokens, -1});
}

at::Tensor SelfAttention::FastContext(const at::Tensor& x, const AttentionFrame& frame,
                                      const ForwardContext& context) const {
  const Qkv qkv = Heads(x, frame, context);
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads, keys = qkv.key.size(1);
  const AttentionMask& mask = MaskOf(frame);
  const at::Tensor q = FlattenHeads(qkv.query) * (1 / score_root());
  at::Tensor scores = Capped(Scores(q, FlattenHeads(qkv.key)), options_.score_cap);
  scores = scores.view({batch, heads, tokens, keys});
  if (mask.additive.defined()) scores.add_(mask.additive);
  at::Tensor p = Probabilities(scores, frame);
  p = DropOut(p, options_.dropout, context);
  return at::bmm(p.view({batch * heads, tokens, keys}), FlattenHeads(qkv.value))
      .view({batch, heads, tokens, -1});
}

bool SelfAttention::can_fuse(layer::Place place) const {
  using Kind = SoftmaxOptions::Kind;
  if (options_.key_value_bias || options_.softmax.kind == Kind::kFunction ||
      options_.gate.kind == GateOptions::Kind::kScript || options_.windowed || options_.document_start >= 0 ||
      options_.score_cap > 0 || !options_.whole_rotary ||
      options_.heads * head_size() != options_.hidden_size)
    return false;
  if (place == layer::Place::kCpuBfloat16) return head_size() % 2 == 0;
  if (place != layer::Place::kGpuBfloat16) return true;
  const Kind kind = options_.softmax.kind;
  const bool headwise_context =
      projected_gate_.is_at(ProjectedGate::Place::kContext) && projected_gate_.headwise();
  return kind != Kind::kSoftpick && kind != Kind::kSigmoid && !query_key_norm_.exists() &&
         (!projected_gate_.exists() || headwise_context) && options_.prefix_tokens == 0 &&
         layer::gpu::CanFuse(options_.hidden_size, options_.heads, options_.kv_heads);
}

void SelfAttention::Describe(const at::Tensor& input, const AttentionFrame& frame,
                             const ForwardContext& context, layer::Call& call) const {
  using Kind = SoftmaxOptions::Kind;
  auto& [shape, weights, inputs, products, saved] = call;
  const std::int64_t batch = input.size(0), tokens = input.size(1);
  const SoftmaxOptions& softmax = options_.softmax;
  shape.heads = options_.heads;
  shape.kv_heads = options_.kv_heads;
  shape.attention = {.tokens = tokens,
                     .head_size = head_size(),
                     .scale = 1 / score_root(),
                     .causal = frame.mask.causal,
                     .prefix = options_.prefix_tokens};
  shape.probabilities = context.NextDropout(options_.dropout, options_.heads * tokens);
  for (const Linear& linear : projection_.linears())
    weights.projections.push_back({linear.weight, linear.bias});
  inputs.key_mask = frame.mask.hidden_keys;
  if (frame.rotary.cosine.defined()) {
    inputs.cosine = frame.rotary.cosine.to(input.scalar_type()).contiguous();
    inputs.sine = frame.rotary.sine.to(input.scalar_type()).contiguous();
  }
  // (B or 1, 1, T or 1, 1) -> (B or 1, T)
  const auto by_query = [&](const at::Tensor& x) {
    return x.view({x.size(0), -1}).expand({x.size(0), tokens}).to(input.scalar_type()).contiguous();
  };
  switch (softmax.kind) {
    case Kind::kClipped:
    case Kind::kNcs:
      shape.attention.softmax = layer::SoftmaxKind::kClipped;
      shape.attention.zeta = softmax.zeta;
      inputs.row_constant = frame.row_lengths.defined()
                                ? by_query(NcsGamma(softmax.beta, softmax.zeta, frame.row_lengths))
                                : at::full({1, tokens}, softmax.UniformGamma(tokens), input.options());
      break;
    case Kind::kNullKey:
      shape.attention.softmax = layer::SoftmaxKind::kNullKey;
      shape.null_score = softmax.null_score;
      break;
    case Kind::kSink:
      shape.attention.softmax = layer::SoftmaxKind::kNullKey;
      weights.sinks = sinks_;
      break;
    case Kind::kVanilla:
    case Kind::kFunction:  // Not fused: can_fuse().
      break;
    case Kind::kSoftpick:
      shape.attention.softmax = layer::SoftmaxKind::kSoftpick;
      shape.attention.epsilon = softmax.epsilon;
      break;
    case Kind::kSigmoid:
      shape.attention.softmax = layer::SoftmaxKind::kSigmoid;
      inputs.row_constant = by_query(frame.row_lengths.clamp_min(1).log());
  }
  if (query_key_norm_.exists()) {
    const Norm& of_queries = query_key_norm_.of_queries();
    const Norm& of_keys = query_key_norm_.of_keys();
    shape.head_norm = of_queries.options.kind;
    shape.head_norm_epsilon = of_queries.options.epsilon;
    weights.query_norm = {of_queries.gain, of_queries.offset};
    weights.key_norm = {of_keys.gain, of_keys.offset};
  }
  if (!has_gate()) return;
  shape.gated = GatedPartOf(projected_gate_);
  const at::Tensor factors =
      projected_gate_.exists() ? projected_gate_.Factors(input, context) : gate_.Factors(input, context);
  inputs.gate = factors.size(-1) == 1
                    ? factors.squeeze(-1).expand({batch, factors.size(1), tokens}).contiguous()
                    : factors.contiguous();
}

at::Tensor SelfAttention::operator()(const at::Tensor& x, const AttentionFrame& frame,
                                     const ForwardContext& context) const {
  at::Tensor result =
      context.tap == nullptr ? FastContext(x, frame, context) : TappedContext(x, frame, context);
  result = gate_.Apply(result, x, context);
  result = projected_gate_.Apply(ProjectedGate::Place::kContext, result.transpose(1, 2), x, context);
  result = result.flatten(2);
  if (!style_.tap_context_before_gate) result = context.Activation(site_, "context_act_quantizer", result);
  return context.Activation(site_, "context", result);
}

at::Tensor SelfAttention::GateOutput(const at::Tensor& output, const at::Tensor& x,
                                     const ForwardContext& context) const {
  constexpr ProjectedGate::Place kPlace = ProjectedGate::Place::kOutput;
  if (!projected_gate_.is_at(kPlace)) return output;
  return projected_gate_.Apply(kPlace, output.unflatten(-1, {options_.heads, head_size()}), x, context)
      .flatten(-2);
}

}  // namespace inlier
