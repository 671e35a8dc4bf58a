// A transformer's layer, forward and hand-written backward, as a few passes over blocks of tokens that stay in the
// cache:
//
//   1. (norm,) query, key and value projections;  2. attention of each head;
//   3. output projection, dropout, residual sum, norm, feed-forward network, dropout, residual sum (, norm)
//
// and the same in reverse order, then the gradients of the weights as products over all tokens. The formulas are
// those of core/nn/transformer_layer.h; products are of T (float, bfloat16 or double), everything else of Real<T>.
// Results do not depend on the number of threads.
#ifndef INLIER_CORE_LAYER_CPU_LAYER_H_
#define INLIER_CORE_LAYER_CPU_LAYER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kernels/dropout.h"
#include "core/kernels/rows.h"
#include "core/layer_cpu/attention.h"

namespace inlier::fused {

// Weights have one layout in all linears of a layer.
struct LayerLinear {
  at::Tensor weight = {};  // (out, in), or (in, out) with LayerShape::in_out.
  at::Tensor bias = {};    // (out); undefined without one.
};

struct LayerNormWeights {
  at::Tensor gain = {};
  at::Tensor offset = {};  // Undefined for the RMS norms.
};

struct LayerWeights {
  std::vector<LayerLinear> projections = {};  // Query, key, value; or one that gives all three.
  LayerLinear output = {};
  LayerLinear ffn_gate = {};  // Without a weight: not a gated network.
  LayerLinear ffn_input = {};
  LayerLinear ffn_output = {};
  LayerNormWeights attention_norm = {};
  LayerNormWeights ffn_norm = {};
  at::Tensor sinks = {};  // (heads); undefined but for the sink softmax.
  LayerNormWeights query_norm =
      {};  // (h) each: of the queries and keys of a head, before rotation; without a gain: none.
  LayerNormWeights key_norm = {};
};

// What LayerInputs::gate multiplies. Queries and keys are gated before their norm.
enum class GatedPart { kContext, kQuery, kKey, kValue, kOutput };

struct LayerShape {
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

// Inputs of one call. Real<T>, contiguous.
struct LayerInputs {
  at::Tensor x = {};  // (B, T, d)
  at::Tensor attention_input =
      {};  // (B, T, d), what query, key and value are projected from; undefined: x, or its norm
           // with pre_norm.
  at::Tensor gate =
      {};  // (B, n, T), factors of the gated part's n heads, or (B, n, T, h), of their elements; undefined: none.
  at::Tensor key_mask = {};           // (B, T) uint8, 1 = hidden; undefined: all keys are visible.
  at::Tensor cosine = {}, sine = {};  // (T, h / 2), of rotary positions; undefined: none.
  at::Tensor row_constant = {};       // (B, T) or (1, T), one a query: gamma of kClipped, ln n of kSigmoid.
};

// Columns of the joined query, key and value projection.
inline std::int64_t QkvWidth(const LayerShape& shape) {
  return shape.width + 2 * shape.kv_heads * (shape.width / shape.heads);
}

// What the backward pass reads of the forward pass. M = B * T; as T but where Real is named.
struct LayerSaved {
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
  at::Tensor ffn_output = {};     // (M, d), Real: the network's result; with LayerShape::ffn_penalty only.
  at::Tensor ffn_sum = {};        // (M, d), Real: the residual sum after the network; post-norm only.
  at::Tensor attention_norm_mean, attention_norm_inverse, ffn_norm_mean, ffn_norm_inverse;  // (M), Real
  LayerWeights operands = {};  // On a GPU: the linears' weights as T, those of the projections in one.
};

struct LayerResult {
  at::Tensor y = {};            // (B, T, d)
  at::Tensor ffn_penalty = {};  // One number; undefined without LayerShape::ffn_penalty.
};

template <typename T>
LayerResult LayerForward(const LayerShape& shape, const LayerWeights& weights, const LayerInputs& inputs,
                         LayerSaved& saved);

// Gradients in the places of what they belong to; undefined where there is no such tensor.
struct LayerGradients {
  at::Tensor x = {};
  at::Tensor attention_input = {};
  at::Tensor gate = {};
  LayerWeights weights = {};
};

// From those of the results.
template <typename T>
LayerGradients LayerBackward(const LayerShape& shape, const LayerWeights& weights, const LayerInputs& inputs,
                             const LayerSaved& saved, const at::Tensor& y_gradient,
                             double ffn_penalty_gradient = 0);

}  // namespace inlier::fused

#endif  // INLIER_CORE_LAYER_CPU_LAYER_H_
