// Scales the context of each head for each token: context_i *= output_factor * sigmoid(logit_i).
//                                                                      (Bondarenko et al. 2023, section 4.2)
//
// The logits come from the tensor that feeds query, key and value; head i of the per-head kinds sees its own
// slice [i h, (i + 1) h) of it. Parameters are called as in the reference, below the prefix G:
//   kUnconditional   G (H)                                       one learned number a head
//   kLinear          G.<i>.weight (1, h), G.<i>.bias (1)         w_i . x_i + b_i
//   kMlp             G.<i>.0.{weight (n, h), bias (n)}, G.<i>.2.{weight (1, n), bias (1)}
//                                                                w2 . relu(W1 x_i + b1) + b2
//   kAllHeadsLinear  G.weight (H, d), G.bias (H)                 W x + b
//   kScript          G.<name in the script>                      a user's own function, which gives the gates themselves:
//                                                                x (B, T, H, h) -> (B, T, H, 1), or x's shape
// All heads are computed at once. Gates are never quantized; their values are observed at the site G.
#ifndef INLIER_CORE_NN_ATTENTION_ATTENTION_GATE_H_
#define INLIER_CORE_NN_ATTENTION_ATTENTION_GATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/nn/attention/script.h"
#include "core/nn/forward_context.h"
#include "core/nn/parameter_scope.h"

namespace inlier {

struct GateOptions {
  enum class Kind { kNone, kUnconditional, kLinear, kMlp, kAllHeadsLinear, kScript };
  Kind kind = Kind::kNone;
  std::int64_t mlp_hidden_size = 0;                // kMlp only: n, per head.
  std::shared_ptr<const Script> script = nullptr;  // kScript: its parameters are each gate's initial ones.
  bool pooled = false;  // Conditional kinds: logits are averaged over all T tokens (padding too).
  double output_factor = 1;
};

class AttentionGate {
 public:
  // Parameters called `name` in `scope`. REQUIRES: heads divides hidden_size.
  AttentionGate(const ParameterScope& scope, const std::string& name, std::int64_t hidden_size,
                std::int64_t heads, const GateOptions& options);

  // Factors of the contexts, output_factor * Values(x), observed at the site G: (B or 1, H, T or 1, 1), of a script
  // perhaps (B, H, T, h).
  // REQUIRES: there is a gate.
  at::Tensor Factors(const at::Tensor& x, const ForwardContext& forward) const;

  // context: (B, H, T, h); x: (B, T, d), the input of query, key and value. Returns the context itself without a gate.
  at::Tensor Apply(const at::Tensor& context, const at::Tensor& x, const ForwardContext& forward) const;

  // sigmoid(logits), or what the script gives: (B, H, T, 1 or h); pooled (B, H, 1, 1); unconditional (H). REQUIRES: there is a gate.
  at::Tensor Values(const at::Tensor& x) const;

  const GateOptions& options() const { return options_; }

 private:
  // (B, T, H)
  at::Tensor Logits(const at::Tensor& x) const;

  GateOptions options_;  // With a script of its own.
  std::int64_t heads_ = 0;
  std::string site_;
  // One tensor a head, or a single one for the kinds that have no per-head parameters.
  std::vector<at::Tensor> weights_;
  std::vector<at::Tensor> biases_;
  std::vector<at::Tensor> output_weights_;  // kMlp: the second layer.
  std::vector<at::Tensor> output_biases_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_ATTENTION_GATE_H_
