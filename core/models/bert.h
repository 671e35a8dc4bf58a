// BERT as a masked language model: post-LN encoder, head tied to the word embedding.   (Devlin et al. 2019)
//
//   body: bert_encoder.h;  head: LN(f(dense(x))) . word table^T + bias
#ifndef INLIER_CORE_MODELS_BERT_H_
#define INLIER_CORE_MODELS_BERT_H_

#include <cstdint>

#include "core/models/bert_encoder.h"
#include "core/models/language_model.h"

namespace inlier {

class Bert : public LanguageModel {
 public:
  explicit Bert(const BertOptions& options);

  bool causal() const override { return false; }
  bool can_fuse(layer::Place place) const override { return encoder_.can_fuse(place); }
  std::int64_t pad_id() const override { return kBertPadId; }
  std::int64_t vocab_size() const override { return encoder_.options().vocab_size; }
  std::int64_t max_positions() const override { return encoder_.options().max_positions; }

 protected:
  at::Tensor Encode(const ModelInput& input, ActivationTap* tap) override;
  at::Tensor Head(const at::Tensor& hidden, ActivationTap* tap) override;
  at::Tensor HeadInput(const at::Tensor& hidden, const ForwardContext& context) const override;
  Vocabulary HeadVocabulary() const override;
  bool tap_sees_head() const override { return false; }

 private:
  BertEncoder encoder_;
  at::Tensor head_bias_;  // (V)
  Linear head_dense_;
  Norm head_norm_;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_BERT_H_
