// The input and output axis of a weight, and the one of the two that touches the residual stream, by the
// weight's Hugging Face name.
//
// Linear weights are stored (out, in); GPT-2's Conv1D (c_attn, c_proj, c_fc) are (in, out). The rows of a
// table (tokens, positions, token types) are entries, not features: such a weight has an input axis, its
// features, and no output axis. A head reads the stream, and so do a classifier, a pooler, BERT's transform before
// the head and a gate that sees all features; the patch projection of a ViT (d, channels, P, P), its class token,
// positions and registers (1, tokens, d) write it. The learned keys and values of key_value_bias (kv_heads, h) are a table
// away from the stream.
#ifndef INLIER_CORE_OPTIM_WEIGHT_AXES_H_
#define INLIER_CORE_OPTIM_WEIGHT_AXES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace inlier {

struct WeightAxes {
  std::int64_t input;
  std::optional<std::int64_t> output;
  std::optional<std::int64_t> residual;  // The one of width d that reads or writes the residual stream.
  bool hidden = false;                   // A matrix of a layer: of no table, gate or head.
  std::int64_t parts = 1;  // Equal parts of the output axis that are matrices of their own: 3 of c_attn.
};

// Of the weight with this name. An unknown name (a gate's of one head, for example) is a 2-D linear weight away from the
// residual stream.
WeightAxes AxesOf(std::string_view name);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_WEIGHT_AXES_H_
