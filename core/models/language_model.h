// A transformer that predicts tokens.
#ifndef INLIER_CORE_MODELS_LANGUAGE_MODEL_H_
#define INLIER_CORE_MODELS_LANGUAGE_MODEL_H_

#include <cstdint>
#include <utility>

#include "core/models/model.h"

namespace inlier {

class LanguageModel : public Model {
 public:
  // (B, T, V).
  at::Tensor Logits(const ModelInput& input, ActivationTap* tap = nullptr) override;

  // Over the targets: the labels (B, T) that are not kIgnoredLabel. A masked model (BERT) predicts each label
  // at its own position; a causal one predicts the label of t + 1 at t, and the first label is never a
  // target, nor those within prefix_tokens(). 0 when there is no target. Without a tap the head is computed at the
  // targets only.
  at::Tensor Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap = nullptr,
                  double label_smoothing = 0) override;

  std::int64_t TargetsIn(const at::Tensor& labels) const override;
  void Observe(const ModelInput& input, ActivationTap& tap) override;

  // Position t of a causal model predicts the label of t + 1. labels (B, T). A head that the tap does not see is computed
  // at the targets only.
  std::pair<at::Tensor, at::Tensor> Predictions(const ModelInput& input, const at::Tensor& labels,
                                                ActivationTap* tap = nullptr) override;

  std::int64_t pad_id() const override = 0;
  // Logits (N, V) at the positions `places` (N) of the flattened (B, T). A head that the tap does not see is computed there
  // only.
  at::Tensor LogitsAt(const ModelInput& input, const at::Tensor& places, ActivationTap* tap = nullptr);

  virtual std::int64_t vocab_size() const = 0;
  virtual std::int64_t max_positions() const = 0;

 protected:
  // The input of the head: (B, T, width).
  virtual at::Tensor Encode(const ModelInput& input, ActivationTap* tap) = 0;
  // (..., width) -> (..., V).
  virtual at::Tensor Head(const at::Tensor& hidden, ActivationTap* tap) = 0;

  // The parts of Head without a tap: what the vocabulary's product reads, and its weight (V, d) and bias (V), which may
  // be undefined.
  struct Vocabulary {
    at::Tensor weight;
    at::Tensor bias;
  };
  virtual at::Tensor HeadInput(const at::Tensor& hidden, const ForwardContext& context) const {
    return hidden;
  }
  virtual Vocabulary HeadVocabulary() const = 0;
  // True where Head passes tensors to its tap.
  virtual bool tap_sees_head() const { return true; }

 private:
  // Predicting positions with their targets: hidden (N, width) or logits (N, V) in, with targets (N).
  at::Tensor Predicting(const at::Tensor& per_position) const;
  at::Tensor Targets(const at::Tensor& labels) const;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_LANGUAGE_MODEL_H_
