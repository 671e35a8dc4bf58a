// BERT as a masked language model: post-LN encoder, head tied to the word embedding.   (Devlin et al. 2019)
//
//   embeddings: drop(LN(word + token type + position));  layers: core/nn/transformer_layer.h
//   head: LN(f(dense(x))) . word table^T + bias
#ifndef INLIER_CORE_MODELS_BERT_H_
#define INLIER_CORE_MODELS_BERT_H_

#include <cstdint>
#include <vector>

#include "core/models/language_model.h"
#include "core/models/layer_stack.h"

namespace inlier {

struct BertOptions {
  std::int64_t layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_positions = 0;
  PositionOptions position;
  LayerOptions layer;  // Also the head's non-linearity and every norm; its dropout follows the
                       // embeddings too.
};

class Bert : public LanguageModel {
 public:
  explicit Bert(const BertOptions& options);

  bool causal() const override { return false; }
  std::int64_t pad_id() const override { return 0; }
  std::int64_t vocab_size() const override { return options_.vocab_size; }
  std::int64_t max_positions() const override { return options_.max_positions; }

 protected:
  at::Tensor Encode(const ModelInput& input, ActivationTap* tap) override;
  at::Tensor Head(const at::Tensor& hidden, ActivationTap* tap) override;

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
  at::Tensor head_bias_;          // (V)
  Linear head_dense_;
  Norm head_norm_;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_BERT_H_
