// GPT-2 and Llama as causal language models: one class, two sets of names.
//
//   x = drop(token + position);  layers: core/nn/transformer_layer.h;  pre-LN: a final norm;  head: x . W^T,
//   with W the token table when tied, no bias;  EmbProj: embedding_projection.h
// A Llama may also scale its embeddings, x = factor * token, and cap its logits, c tanh(y / c), and some of its layers may
// have a window (Gemma 2, Mistral; core/nn/attention/self_attention.h).
// GPT-2: Radford et al. 2019; positions are learned, and 0 … T - 1 also after padding. Llama: Touvron et al.
// 2023; positions are rotary, and the feed-forward network is gated.
#ifndef INLIER_CORE_MODELS_DECODER_H_
#define INLIER_CORE_MODELS_DECODER_H_

#include <cstdint>
#include <vector>

#include "core/models/embedding_projection.h"
#include "core/models/language_model.h"
#include "core/models/layer_stack.h"
#include "core/nn/precision.h"

namespace inlier {

// Names of the Hugging Face state dict.
struct DecoderStyle {
  const char* architecture;  // As in the spec.
  const char* tokens;
  const char* positions;
  const char* layers;
  const char* final_norm;
  const LayerStyle* layer;
};

extern const DecoderStyle kGpt2Style;
extern const DecoderStyle kLlamaStyle;

struct DecoderOptions {
  std::int64_t layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;
  PositionOptions position;
  bool tied_head = true;
  bool embedding_projection = false;  // EmbProj. REQUIRES: !tied_head.
  std::vector<bool> windowed = {};    // Whether each layer has the window; empty: as layer.attention has it.
  double logit_cap = 0;               // 0: none.
  double embedding_factor = 1;
  LayerOptions layer;  // Its dropout follows the embeddings too.
};

class Decoder : public LanguageModel {
 public:
  Decoder(const DecoderStyle& style, const DecoderOptions& options);

  bool causal() const override { return true; }
  std::int64_t prefix_tokens() const override { return frame_.prefix; }
  // The fused loss has no cap.
  bool can_fuse(layer::Place place) const override {
    return options_.logit_cap == 0 && CanFuseLayers(layers_, place);
  }
  std::int64_t pad_id() const override { return -1; }
  std::int64_t vocab_size() const override { return options_.vocab_size; }
  std::int64_t max_positions() const override { return options_.max_positions; }

 protected:
  at::Tensor Encode(const ModelInput& input, ActivationTap* tap) override;
  at::Tensor Head(const at::Tensor& hidden, ActivationTap* tap) override;
  at::Tensor HeadInput(const at::Tensor& hidden, const ForwardContext&) const override {
    return AtLeastFloat32(projection_.BeforeHead(hidden));
  }
  Vocabulary HeadVocabulary() const override {
    return {head_.weight.defined() ? head_.weight : tokens_, head_.bias};
  }

 private:
  at::Tensor Embed(const ModelInput& input, const ForwardContext& context) const;

  DecoderStyle style_;
  DecoderOptions options_;
  FrameOptions frame_;
  at::Tensor tokens_;     // (V, d)
  at::Tensor positions_;  // (max_positions, d); undefined unless positions are learned.
  std::vector<TransformerLayer> layers_;
  std::vector<Norm> final_norm_;  // One with pre-LN, else none.
  Linear head_;                   // Without a weight when tied.
  EmbeddingProjection projection_;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_DECODER_H_
