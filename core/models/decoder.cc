#include "core/models/decoder.h"

#include <ATen/Functions.h>

#include <string>

#include "core/models/sites.h"
#include "core/nn/dropout.h"

namespace inlier {

const DecoderStyle kGpt2Style = {.architecture = "gpt2",
                                 .tokens = "transformer.wte",
                                 .positions = "transformer.wpe",
                                 .layers = "transformer.h.",
                                 .final_norm = "transformer.ln_f",
                                 .layer = &kGpt2LayerStyle};

const DecoderStyle kLlamaStyle = {.architecture = "llama",
                                  .tokens = "model.embed_tokens",
                                  .positions = "model.embed_positions",
                                  .layers = "model.layers.",
                                  .final_norm = "model.norm",
                                  .layer = &kLlamaLayerStyle};

Decoder::Decoder(const DecoderStyle& style, const DecoderOptions& options)
    : style_(style),
      options_(options),
      frame_(FrameOptionsOf(options.layer, options.position, /*causal=*/true)) {
  const ParameterScope root(*this);
  const std::int64_t width = options.layer.attention.hidden_size;
  tokens_ = root.Child(style.tokens).Create("weight", {options.vocab_size, width});
  if (options.position.kind == PositionOptions::Kind::kLearned) {
    positions_ = root.Child(style.positions).Create("weight", {options.max_positions, width});
  }
  for (std::int64_t i = 0; i < options.layers; ++i) {
    LayerOptions layer = AtLayer(options.layer, i);
    if (!options.windowed.empty()) layer.attention.windowed = options.windowed[static_cast<std::size_t>(i)];
    layers_.emplace_back(root.Child(style.layers + std::to_string(i)), *style.layer, layer);
  }
  if (options.layer.pre_norm)
    final_norm_.push_back(Norm::Create(root.Child(style.final_norm), width, options.layer.norm));
  if (!options.tied_head) {
    head_ =
        Linear::Create(root.Child(std::string(kTiedHeadSite)), width, options.vocab_size, {.bias = false});
  }
  if (options.embedding_projection) projection_ = EmbeddingProjection::Create(root, width);
}

at::Tensor Decoder::Embed(const ModelInput& input, const ForwardContext& context) const {
  CheckLengthFits(input.ids.size(1), max_positions(), style_.architecture);
  // A tap sees the table that has absorbed its projection.
  at::Tensor x = context.tap == nullptr
                     ? AtLeastFloat32(projection_.Embedded(at::embedding(tokens_, input.ids)))
                     : at::embedding(context.Weight(style_.tokens, projection_.Embedded(tokens_)), input.ids);
  if (options_.embedding_factor != 1) x = x * options_.embedding_factor;
  if (positions_.defined())
    x = x + context.Weight(style_.positions, positions_).slice(0, 0, input.ids.size(1));
  return DropOut(x, options_.layer.dropout, context);
}

at::Tensor Decoder::Encode(const ModelInput& input, ActivationTap* tap) {
  const ForwardContext context = ContextOf(input, tap);
  const at::Tensor x = Embed(input, context);
  const AttentionFrame frame =
      MakeAttentionFrame(frame_, input.attention_mask, input.ids.size(1), x.options(), input.ids);
  return RunLayers(layers_, final_norm_, x, frame, context);
}

at::Tensor Decoder::Head(const at::Tensor& hidden, ActivationTap* tap) {
  const ForwardContext context{.tap = tap, .training = is_training()};
  static const std::string kSite(kTiedHeadSite);
  if (tap == nullptr) {
    const Vocabulary vocabulary = HeadVocabulary();
    return Capped(at::linear(HeadInput(hidden, context), vocabulary.weight, vocabulary.bias),
                  options_.logit_cap);
  }
  const at::Tensor weight = projection_.AbsorbedHead(HeadVocabulary().weight);
  return Capped(context.Activation(kSite, LinearProduct(kSite, hidden, weight, context)), options_.logit_cap);
}

}  // namespace inlier
