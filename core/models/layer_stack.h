// Shared by the architectures' bodies: positions, and the run through the layers.
#ifndef INLIER_CORE_MODELS_LAYER_STACK_H_
#define INLIER_CORE_MODELS_LAYER_STACK_H_

#include <cstdint>
#include <vector>

#include "core/nn/attention/attention_frame.h"
#include "core/nn/norms.h"
#include "core/nn/transformer_layer.h"

namespace inlier {

struct PositionOptions {
  enum class Kind { kLearned, kRotary, kNone };
  Kind kind = Kind::kLearned;
  RotaryOptions rotary = {};  // kRotary only; size 0: the whole head.
};

// `options` of all layers, for layer i, from 0: with norm_placement ENDS the first one has a norm.
inline LayerOptions AtLayer(LayerOptions options, std::int64_t i) {
  options.attention_norm = options.attention_norm || i == 0;
  return options;
}

// The inputs of such layers' attentions for one batch.
FrameOptions FrameOptionsOf(const LayerOptions& layer, const PositionOptions& position, bool causal);

// Throws when a sequence has more tokens than the model has positions; `architecture` is its name in the spec.
void CheckLengthFits(std::int64_t tokens, std::int64_t max_positions, const char* architecture);

// As Model::can_fuse.
bool CanFuseLayers(const std::vector<TransformerLayer>& layers, layer::Place place);

// x: (B, T, d) through all layers and, where there is one, the final norm. A tap sees x as hidden.0 and the
// output of layer i as hidden.<i + 1>.
at::Tensor RunLayers(const std::vector<TransformerLayer>& layers, const std::vector<Norm>& final_norm,
                     at::Tensor x, const AttentionFrame& frame, const ForwardContext& context);

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_LAYER_STACK_H_
