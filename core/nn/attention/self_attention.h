// Multi-head self-attention up to the merged context; the output projection belongs to the layer.
//
//   q, k, v = Linear(x), gated;  q, k normed, then rotated where positions are rotary;  k, v = [k; k'], [v; v'];
//   s = cap(q k^T / sqrt(score_size)) + mask;  p = softmax(s);  p = dropout(p);  c = p v;  c *= gate(x);  merge the heads
//
// Gates, norms of queries and keys, the cap c tanh(s / c) (Gemma 2), a window and the bias k', v' are optional.
//
// k', v' (kv_heads, h) are one learned key and value a head, seen by every query under any mask: the attention bias of Sun
// et al. 2024, eq. 3. Parameters bias_k and bias_v, as torch's MultiheadAttention calls them. They are not a token: not
// normed, rotated, gated or cached, and not counted in a length n of the softmax; the probabilities have them as their last
// key, T + 1 in all. The paper does not print their initial values; its code draws both as GPT-2's weights, and so do we
// (normal, initial_std).
//
// One module serves all architectures; AttentionStyle has the differences of their reference codes (names,
// and the shapes and order of the tensors that a tap sees).
#ifndef INLIER_CORE_NN_ATTENTION_SELF_ATTENTION_H_
#define INLIER_CORE_NN_ATTENTION_SELF_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/layer/layer.h"
#include "core/nn/attention/attention_frame.h"
#include "core/nn/attention/attention_gate.h"
#include "core/nn/attention/projected_gate.h"
#include "core/nn/attention/qkv_projection.h"
#include "core/nn/attention/query_key_norm.h"
#include "core/nn/attention/softmax.h"
#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

struct AttentionStyle {
  QkvNames projections;
  bool scale_query = false;  // q is scaled (after its site) in place of the scores (before theirs).
  // A tap sees scores, probabilities and context as (B*H, T, ·), not (B, H, T, ·) and (B, T, d).
  bool flat_heads = false;
  bool tap_context_before_gate = false;  // Else after the gate.
};

struct SelfAttentionOptions {
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;   // Divides heads.
  std::int64_t head_size = 0;  // h; 0: hidden_size / heads, which is whole. Gates need it.
  double dropout = 0;          // On the probabilities.
  LinearOptions linear;
  std::optional<bool> qkv_bias = std::nullopt;  // As `linear` where nothing.
  SoftmaxOptions softmax;
  GateOptions gate;  // At most one of the two gates.
  ProjectedGateOptions projected_gate = {};
  // kLayerNorm or kRmsPerChannel; nothing: none.
  std::optional<NormOptions> query_key_norm = std::nullopt;
  bool key_value_bias = false;
  std::int64_t prefix_tokens = 0;    // Of causal models (FrameOptions::prefix).
  std::int64_t window = 0;           // As FrameOptions::window, of the layers that are `windowed`.
  bool windowed = false;             // Sees AttentionFrame::window_mask.
  std::int64_t document_start = -1;  // As FrameOptions::document_start.
  double score_size = 0;             // 0: h.
  double score_cap = 0;              // c; 0: none.
  bool whole_rotary = true;          // All features of a head are rotated, or none.

  std::int64_t head_width() const { return head_size > 0 ? head_size : hidden_size / heads; }
};

class SelfAttention {
 public:
  SelfAttention(const ParameterScope& scope, const AttentionStyle& style,
                const SelfAttentionOptions& options);

  // True when the fused engine has every part there.
  bool can_fuse(layer::Place place) const;
  // Fills in the attention's part of a call of a fused layer; `input` (B, T, d) is what query, key and value are projected from.
  void Describe(const at::Tensor& input, const AttentionFrame& frame, const ForwardContext& context,
                layer::Call& call) const;

  bool has_gate() const {
    return gate_.options().kind != GateOptions::Kind::kNone || projected_gate_.exists();
  }

  // x: (B, T, d). Returns the merged context (B, T, heads * h).
  at::Tensor operator()(const at::Tensor& x, const AttentionFrame& frame,
                        const ForwardContext& context) const;

  // output: (B, T, d), the result of the output projection; x as above. Returns it gated where the gate is there.
  at::Tensor GateOutput(const at::Tensor& output, const at::Tensor& x, const ForwardContext& context) const;

 private:
  std::int64_t head_size() const { return options_.head_width(); }
  double score_root() const;  // What the scores are divided by.
  const AttentionMask& MaskOf(const AttentionFrame& frame) const {
    return options_.windowed ? frame.window_mask : frame.mask;
  }

  // Queries (B, T, heads, h), and keys and values (B, K, heads, h) once for every query head, as scores and contexts are
  // computed from them. K = T, with the bias T + 1. `exact`, if not null, becomes the same with keys and values as they were
  // before the tap.
  Qkv Heads(const at::Tensor& x, const AttentionFrame& frame, const ForwardContext& context,
            Qkv* exact = nullptr) const;

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
  ProjectedGate projected_gate_;
  QueryKeyNorm query_key_norm_;
  at::Tensor key_bias_;  // (kv_heads, h); undefined without. The same for the next.
  at::Tensor value_bias_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_SELF_ATTENTION_H_
