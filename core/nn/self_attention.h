// Multi-head self-attention up to the merged context; the output projection belongs to the layer.
//
//   q, k, v = Linear(x), rotated where positions are rotary;  s = q k^T / sqrt(h) + mask;  p = softmax(s);
//   p = dropout(p);  c = p v;  c *= gate(x);  merge the heads
//
// One module serves all architectures; AttentionStyle has the differences of their reference codes (names,
// and the shapes and order of the tensors that a tap sees).
#ifndef INLIER_CORE_NN_SELF_ATTENTION_H_
#define INLIER_CORE_NN_SELF_ATTENTION_H_

#include <cstdint>
#include <string>

#include "core/fused/layer.h"
#include "core/nn/attention_frame.h"
#include "core/nn/attention_gate.h"
#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"
#include "core/nn/qkv_projection.h"
#include "core/nn/softmax.h"

namespace inlier {

struct AttentionStyle {
  QkvNames projections;
  bool scale_query;  // q is scaled (after its site) in place of the scores (before theirs).
  bool flat_heads;   // A tap sees scores, probabilities and context as (B*H, T, ·) in place of (B, H, T, ·)
                     // and (B, T, d).
  bool tap_context_before_gate;  // Else after the gate.
};

struct SelfAttentionOptions {
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;     // Divides hidden_size.
  std::int64_t kv_heads = 0;  // Divides heads.
  double dropout = 0;         // On the probabilities.
  LinearOptions linear;
  SoftmaxOptions softmax;
  GateOptions gate;
};

class SelfAttention {
 public:
  SelfAttention(const ParameterScope& scope, const AttentionStyle& style,
                const SelfAttentionOptions& options);

  // True when the fused engine has every part there.
  bool can_fuse(fused::Place place) const;
  // Fills in the attention's part of a fused layer; `input` (B, T, d) is what query, key and value are projected from.
  void Describe(const at::Tensor& input, const AttentionFrame& frame, const ForwardContext& context,
                fused::LayerShape& shape, fused::LayerWeights& weights, fused::LayerInputs& inputs) const;

  bool has_gate() const { return gate_.options().kind != GateOptions::Kind::kNone; }

  // x: (B, T, d). Returns the merged context (B, T, d).
  at::Tensor operator()(const at::Tensor& x, const AttentionFrame& frame,
                        const ForwardContext& context) const;

 private:
  // (B, T, heads, h), rotated; keys and values once for every query head.
  Qkv Heads(const at::Tensor& x, const AttentionFrame& frame, const ForwardContext& context) const;

  // The context (B, H, T, h), every step of it through the tap; without one, in the fastest way.
  at::Tensor TappedContext(const at::Tensor& x, const AttentionFrame& frame,
                           const ForwardContext& context) const;
  at::Tensor FastContext(const at::Tensor& x, const AttentionFrame& frame,
                         const ForwardContext& context) const;

  at::Tensor Probabilities(const at::Tensor& scores, const AttentionFrame& frame) const;

  AttentionStyle style_;
  SelfAttentionOptions options_;
  std::string site_;
  QkvProjection projection_;
  at::Tensor sinks_;  // (H), parameter `sinks`; only with a learned null key.
  AttentionGate gate_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_SELF_ATTENTION_H_
