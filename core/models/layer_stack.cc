#include "core/models/layer_stack.h"

#include <algorithm>
#include <string>

namespace inlier {

FrameOptions FrameOptionsOf(const LayerOptions& layer, const PositionOptions& position, bool causal) {
  FrameOptions frame{.causal = causal,
                     .prefix = layer.attention.prefix_tokens,
                     .softmax = layer.attention.softmax,
                     .added_keys = layer.attention.key_value_bias ? 1 : 0,
                     .window = layer.attention.window,
                     .document_start = layer.attention.document_start};
  if (position.kind == PositionOptions::Kind::kRotary) {
    frame.rotary = position.rotary;
    if (frame.rotary.size == 0) frame.rotary.size = layer.attention.head_width();
  }
  return frame;
}

void CheckLengthFits(std::int64_t tokens, std::int64_t max_positions, const char* architecture) {
  TORCH_CHECK(tokens <= max_positions, "a sequence of ", tokens, " tokens does not fit into model.",
              architecture, ".max_positions ", max_positions);
}

bool CanFuseLayers(const std::vector<TransformerLayer>& layers, layer::Place place) {
  return std::all_of(layers.begin(), layers.end(),
                     [place](const TransformerLayer& layer) { return layer.can_fuse(place); });
}

at::Tensor RunLayers(const std::vector<TransformerLayer>& layers, const std::vector<Norm>& final_norm,
                     at::Tensor x, const AttentionFrame& frame, const ForwardContext& context) {
  x = context.Activation("hidden.0", x);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    x = context.Activation("hidden", std::to_string(i + 1).c_str(), layers[i](x, frame, context));
  }
  return final_norm.empty() ? x : final_norm[0](x, context);
}

}  // namespace inlier
