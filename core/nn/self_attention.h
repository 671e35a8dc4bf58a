// Multi-head self-attention up to the merged context; the output projection belongs to the layer.
//
//   q, k, v = Linear(x);  s = q k^T / sqrt(h) + mask;  p = softmax(s);  p = dropout(p);  c = p v;  c *=
//   gate(x);  merge the heads
//
// One module serves BERT and OPT; where their reference codes differ (what a tap sees, in which shape and
// order) is said by AttentionStyle.
#ifndef INLIER_CORE_NN_SELF_ATTENTION_H_
#define INLIER_CORE_NN_SELF_ATTENTION_H_

#include <cstdint>
#include <string>

#include "core/nn/attention_gate.h"
#include "core/nn/forward_context.h"
#include "core/nn/linear.h"
#include "core/nn/parameter_scope.h"
#include "core/nn/softmax.h"

namespace inlier {

// Which keys a query may see. Default: all.
struct AttentionMask {
  // Added to the scores, broadcast to (B, H, T, T): 0 where a query may see a key, the most negative number
  // of its type where not.
  at::Tensor additive;
  // `additive` hides exactly the future, no padding: a fused kernel may do without it.
  bool causal_only = false;
};

// attention_mask: (B, T), 1 = a real token, or undefined. `additive` is (B, 1, 1, T), (1, 1, T, T) or (B, 1,
// T, T).
AttentionMask MakeAttentionMask(const at::Tensor& attention_mask, std::int64_t tokens, bool causal,
                                const at::TensorOptions& options);

struct AttentionStyle {
  const char* query;
  const char* key;
  const char* value;
  bool scale_query;  // q is scaled (after its site) in place of the scores (before theirs).
  bool flat_heads;   // A tap sees scores, probabilities and context as (B*H, T, ·) in place of (B, H, T, ·)
                     // and (B, T, d).
  bool tap_context_before_gate;  // Else after the gate.
};

struct SelfAttentionOptions {
  std::int64_t hidden_size = 0;
  std::int64_t heads = 0;  // Divides hidden_size.
  double dropout = 0;      // On the probabilities.
  SoftmaxOptions softmax;
  GateOptions gate;
};

class SelfAttention {
 public:
  SelfAttention(const ParameterScope& scope, const AttentionStyle& style,
                const SelfAttentionOptions& options);

  // x: (B, T, d). Returns the merged context (B, T, d).
  at::Tensor operator()(const at::Tensor& x, const AttentionMask& mask, const ForwardContext& context) const;

 private:
  // The context (B, H, T, h), every step of it through the tap; and as fast as it goes when there is none.
  at::Tensor TappedContext(const at::Tensor& x, const AttentionMask& mask,
                           const ForwardContext& context) const;
  at::Tensor FastContext(const at::Tensor& x, const AttentionMask& mask, bool training) const;

  // (B, T, H, h) -> (B*H, T, h)
  at::Tensor FlattenHeads(const at::Tensor& x) const;

  AttentionStyle style_;
  SelfAttentionOptions options_;
  std::string site_;
  Linear query_;
  Linear key_;
  Linear value_;
  AttentionGate gate_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_SELF_ATTENTION_H_
