#include "core/nn/self_attention.h"

#include <ATen/Functions.h>

#include <cmath>
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

at::Tensor SelfAttention::SplitHeads(const at::Tensor& x) const {
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads;
  return x.view({batch, tokens, heads, -1}).transpose(1, 2).reshape({batch * heads, tokens, -1});
}

at::Tensor SelfAttention::Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const at::Tensor& mask, std::int64_t batch,
                                 const ForwardContext& context) const {
  const std::int64_t heads = options_.heads, tokens = q.size(1);
  const std::vector<std::int64_t> by_head = {batch, heads, tokens, tokens};
  at::Tensor scores = AtLeastFloat32(at::bmm(q, k.transpose(1, 2)));
  if (context.tap != nullptr) {
    if (!style_.scale_query) scores = scores / std::sqrt(static_cast<double>(q.size(2)));
    scores = context.Activation(site_, "attn_scores_act_quantizer",
                                style_.flat_heads ? scores : scores.view(by_head));
    scores = scores.view(by_head);
    if (mask.defined()) scores = scores + mask;
  } else {
    scores = scores.view(by_head);
    if (mask.defined()) scores.add_(mask);
  }
  at::Tensor probabilities = AttentionProbabilities(scores, options_.softmax);
  const std::vector<std::int64_t> flat = {batch * heads, tokens, tokens};
  if (context.tap != nullptr) {
    probabilities = context.Activation(site_, "attn_probs_act_quantizer",
                                       style_.flat_heads ? probabilities.view(flat) : probabilities);
    probabilities = context.Activation(site_, "probs", probabilities.view(by_head));
  }
  if (context.training && options_.dropout > 0)
    probabilities = at::dropout(probabilities, options_.dropout, true);
  return at::bmm(probabilities.view(flat), v);
}

at::Tensor SelfAttention::operator()(const at::Tensor& x, const at::Tensor& mask,
                                     const ForwardContext& context) const {
  const std::int64_t batch = x.size(0), tokens = x.size(1), heads = options_.heads;
  at::Tensor q = query_(x, context);
  const at::Tensor k = key_(x, context);
  const at::Tensor v = value_(x, context);
  // Without a tap nobody sees whether the factor is applied before or after the product: before is cheaper.
  if (style_.scale_query || context.tap == nullptr)
    q = q * (1 / std::sqrt(static_cast<double>(x.size(2) / heads)));
  at::Tensor merged =
      Attend(SplitHeads(q), SplitHeads(k), SplitHeads(v), mask, batch, context);  // (B*H, T, h)

  if (style_.tap_context_before_gate) merged = context.Activation(site_, "context_act_quantizer", merged);
  merged = gate_.Apply(merged.view({batch, heads, tokens, -1}), x, context);
  merged = merged.transpose(1, 2).reshape({batch, tokens, -1});
  if (!style_.tap_context_before_gate) merged = context.Activation(site_, "context_act_quantizer", merged);
  return context.Activation(site_, "context", merged);
}

}  // namespace inlier
