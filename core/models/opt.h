// OPT as a causal language model: decoder with learned positions, head tied to the token embedding.   (Zhang et al. 2022)
//
//   embeddings: project_in(token) + position, no norm, no dropout;  layers: core/nn/transformer_layer.h
//   pre-LN: a final norm;  head: project_out(x) . token table^T, no bias
// The position table has two rows more than there are positions: token t uses row t + 2; with a mask, row
// cumsum(mask)_t mask_t + 1.
#ifndef INLIER_CORE_MODELS_OPT_H_
#define INLIER_CORE_MODELS_OPT_H_

#include <cstdint>
#include <vector>

#include "core/models/language_model.h"
#include "core/models/layer_stack.h"

namespace inlier {

struct OptOptions {
  std::int64_t layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;   // Longest sequence.
  std::int64_t embedding_size = 0;  // If it differs from d, bias-free projections map one to the other.
  LayerOptions layer;
};

class Opt : public LanguageModel {
 public:
  explicit Opt(const OptOptions& options);

  bool causal() const override { return true; }
  std::int64_t prefix_tokens() const override { return frame_.prefix; }
  bool can_fuse(layer::Place place) const override { return CanFuseLayers(layers_, place); }
  std::int64_t pad_id() const override { return 1; }
  std::int64_t vocab_size() const override { return options_.vocab_size; }
  std::int64_t max_positions() const override { return options_.max_positions; }

 protected:
  at::Tensor Encode(const ModelInput& input, ActivationTap* tap) override;
  at::Tensor Head(const at::Tensor& hidden, ActivationTap* tap) override;
  Vocabulary HeadVocabulary() const override { return {tokens_, {}}; }

 private:
  at::Tensor Embed(const ModelInput& input, const ForwardContext& context) const;

  OptOptions options_;
  FrameOptions frame_;
  at::Tensor tokens_;     // (V, E)
  at::Tensor positions_;  // (max_positions + 2, d)
  std::vector<Linear> project_in_;
  std::vector<Linear> project_out_;
  std::vector<TransformerLayer> layers_;
  std::vector<Norm> final_norm_;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_OPT_H_
