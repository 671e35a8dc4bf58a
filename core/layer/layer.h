// A transformer's layer as a whole, forward and with a hand-written backward pass: what the two that compute it share,
// core/layer_cpu and core/layer_cuda.
//
//   1. (norm,) query, key and value projections;  2. attention of each head;
//   3. output projection, dropout, residual sum, norm, feed-forward network, dropout, residual sum (, norm)
//
// and the same in reverse order, then the gradients of the weights as products over all tokens. The formulas are in
// core/nn/transformer_layer.h. T is the type of the products' operands (float, bfloat16 or double), everything
// else is of Real<T>.
#ifndef INLIER_CORE_LAYER_LAYER_H_
#define INLIER_CORE_LAYER_LAYER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kernels/dropout.h"
#include "core/kernels/rows.h"
#include "core/kernels/softmax_rows.h"
#include "core/layer/precision.h"

namespace inlier::layer {

using kernels::SoftmaxKind;

// Shared by all heads of a layer.
struct AttentionShape {
  std::int64_t tokens = 0;     // T
  std::int64_t head_size = 0;  // h; even for bfloat16.
  double scale = 0;            // Of the scores.
  bool causal = false;
  std::int64_t prefix = 0;  // Of a causal model: the first so many tokens see each other.
  SoftmaxKind softmax = SoftmaxKind::kSoftmax;
  double zeta = 1;
  double epsilon = 0;  // kSoftpick.
};

// Weights have one layout in all linears of a layer.
struct Linear {
  at::Tensor weight = {};  // (out, in), or (in, out) with Shape::in_out.
  at::Tensor bias = {};    // (out); undefined without one.
};

struct Norm {
  at::Tensor gain = {};
  at::Tensor offset = {};  // Undefined for the RMS norms.
};

struct Weights {
  std::vector<Linear> projections = {};  // Query, key, value; or one that gives all three.
  Linear output = {};
  Linear ffn_gate = {};  // Without a weight: not a gated network.
  Linear ffn_input = {};
  Linear ffn_output = {};
  Norm attention_norm = {};
  Norm ffn_norm = {};
  at::Tensor sinks = {};  // (heads); undefined but for the sink softmax.
  // (h) each: of the queries and keys of a head, before rotation; without a gain: none.
  Norm query_norm = {};
  Norm key_norm = {};
};

// visit(tensor) for every tensor of the weights, or of their gradients, in one order.
template <typename AnyWeights, typename Visit>
void VisitWeights(AnyWeights& weights, const Visit& visit) {
  const auto linear = [&visit](auto& item) {
    visit(item.weight);
    visit(item.bias);
  };
  for (auto& projection : weights.projections) linear(projection);
  for (auto* item : {&weights.output, &weights.ffn_gate, &weights.ffn_input, &weights.ffn_output})
    linear(*item);
  for (auto* norm : {&weights.attention_norm, &weights.ffn_norm, &weights.query_norm, &weights.key_norm}) {
    visit(norm->gain);
    visit(norm->offset);
  }
  visit(weights.sinks);
}

// The tensors that Inputs::gate multiplies. Queries and keys are gated before their norm.
enum class GatedPart { kContext, kQuery, kKey, kValue, kOutput };

struct Shape {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // Each serves heads / kv_heads consecutive queries.
  std::int64_t ffn = 0;
  bool in_out = false;
  bool pre_norm = false;
  kernels::NormKind norm = kernels::NormKind::kLayerNorm;
  double epsilon = 0;
  kernels::NormKind head_norm = kernels::NormKind::kRmsPerChannel;
  double head_norm_epsilon = 0;
  GatedPart gated = GatedPart::kContext;
  kernels::Activation activation = kernels::Activation::kGeluErf;
  AttentionShape attention = {};
  double null_score = 0;                                 // kNullKey without sinks.
  kernels::Dropout probabilities = {};                   // On the attention's.
  kernels::Dropout attention_dropout = {};               // On the output projection's result.
  kernels::Dropout ffn_dropout = {};                     // On the second feed-forward linear's result.
  std::optional<kernels::ScaledPower> ffn_penalty = {};  // Of the same before dropout: the mean is a result.
};

// Real<T>, contiguous.
struct Inputs {
  at::Tensor x = {};  // (B, T, d)
  // (B, T, d), what query, key and value are projected from; undefined: x, or its norm with pre_norm.
  at::Tensor attention_input = {};
  // (B, n, T), factors of the gated part's n heads, or (B, n, T, h), of their elements; undefined: none.
  at::Tensor gate = {};
  at::Tensor key_mask = {};           // (B, T) uint8, 1 = hidden; undefined: all keys are visible.
  at::Tensor cosine = {}, sine = {};  // (T, h / 2), of rotary positions; undefined: none.
  at::Tensor row_constant = {};       // (B, T) or (1, T), one a query: gamma of kClipped, ln n of kSigmoid.
};

// Columns of the joined query, key and value projection.
inline std::int64_t QkvWidth(const Shape& shape) {
  return shape.width + 2 * shape.kv_heads * (shape.width / shape.heads);
}

// The results of the forward pass that the backward pass reads. M = B * T; as T but where Real is named.
struct Saved {
  at::Tensor projected = {};    // (M, d), what query, key and value are projected from.
  at::Tensor qkv = {};          // (M, QkvWidth), rotated.
  at::Tensor plain_heads = {};  // As qkv, Real: before their gate and norms; undefined without those.
  at::Tensor head_norm_mean, head_norm_inverse;  // (M, heads + kv_heads), Real
  at::Tensor plain_output = {};                  // (M, d), Real: of the output projection, before its gate.
  at::Tensor softmax_statistics = {};            // (B, H, T, 2), Real: of AttentionForward.
  at::Tensor ungated = {};        // (M, d), the context before the gate; undefined without one.
  at::Tensor context = {};        // (M, d)
  at::Tensor attention_sum = {};  // (M, d), Real: the residual sum after the attention.
  at::Tensor ffn_operand = {};    // (M, d), what the feed-forward network reads.
  at::Tensor gate_hidden = {};    // (M, ffn); undefined where the network is not gated.
  at::Tensor hidden = {};         // (M, ffn), before the non-linearity.
  at::Tensor activated = {};      // (M, ffn)
  at::Tensor ffn_output = {};     // (M, d), Real: the network's result; with Shape::ffn_penalty only.
  at::Tensor ffn_sum = {};        // (M, d), Real: the residual sum after the network; post-norm only.
  at::Tensor attention_norm_mean, attention_norm_inverse, ffn_norm_mean, ffn_norm_inverse;  // (M), Real
  Weights operands = {};  // On a GPU: the linears' weights as T, those of the projections in one.
};

// One call of a layer, with what its forward pass keeps for the backward one.
struct Call {
  Shape shape = {};
  Weights weights = {};
  Inputs inputs = {};
  Products products = Products::kReference;  // The caller names another.
  Saved saved = {};
};

struct Result {
  at::Tensor y = {};            // (B, T, d)
  at::Tensor ffn_penalty = {};  // One number; undefined without Shape::ffn_penalty.
};

// Gradients in the places of what they belong to; undefined where there is no such tensor.
struct Gradients {
  at::Tensor x = {};
  at::Tensor attention_input = {};
  at::Tensor gate = {};
  Weights weights = {};
};

}  // namespace inlier::layer

#endif  // INLIER_CORE_LAYER_LAYER_H_
