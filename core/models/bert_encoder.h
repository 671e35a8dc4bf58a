// The body of BERT: embeddings and layers, for any head.   (Devlin et al. 2019)
//
//   embeddings: drop(LN(word + token type + position));  layers: core/nn/transformer_layer.h
// Its parameters belong to the model of `root`.
#ifndef INLIER_CORE_MODELS_BERT_ENCODER_H_
#define INLIER_CORE_MODELS_BERT_ENCODER_H_

#include <cstdint>
#include <vector>

#include "core/models/layer_stack.h"
#include "core/models/model.h"

namespace inlier {

inline constexpr std::int64_t kBertPadId = 0;

struct BertOptions {
  std::int64_t layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;
  PositionOptions position;
  // Also the head's non-linearity and every norm; its dropout follows the embeddings too.
  LayerOptions layer;
};

class BertEncoder {
 public:
  // Its parameters are bert.… below `root`.
  BertEncoder(const ParameterScope& root, const BertOptions& options);

  // ids (B, T) -> (B, T, d).
  at::Tensor operator()(const ModelInput& input, const ForwardContext& context) const;

  // As Model::can_fuse.
  bool can_fuse(layer::Place place) const { return CanFuseLayers(layers_, place); }

  const BertOptions& options() const { return options_; }
  // (V, d), to which heads are tied.
  const at::Tensor& words() const { return words_; }

 private:
  at::Tensor Embed(const ModelInput& input, const ForwardContext& context) const;

  BertOptions options_;
  FrameOptions frame_;
  at::Tensor words_;        // (V, d)
  at::Tensor positions_;    // (max_positions, d); undefined unless positions are learned.
  at::Tensor token_types_;  // (2, d)
  Norm embedding_norm_;
  std::vector<TransformerLayer> layers_;
  std::vector<Norm> final_norm_;  // One with pre-LN, which the reference does not have; else none.
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_BERT_ENCODER_H_
