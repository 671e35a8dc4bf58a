// A transformer that predicts tokens: what the trainer, the evaluator, quantization and the outlier metrics
// need of it.
//
// named_parameters() are the Hugging Face state-dict names, so that checkpoints move both ways; tied copies
// have no name of their own. Dropout follows is_training() (train() / eval()). Every weight and activation
// that the reference code quantizes or measures goes through the tap of the call, in the order and under the
// names of core/models/sites.h; without a tap nothing is paid for it.
//
// Thread safety: none.
#ifndef INLIER_CORE_MODELS_LANGUAGE_MODEL_H_
#define INLIER_CORE_MODELS_LANGUAGE_MODEL_H_

#include <torch/nn/module.h>

#include <cstdint>

#include "core/nn/activation_tap.h"

namespace inlier {

// One batch. B sequences of T tokens.
struct ModelInput {
  at::Tensor ids;             // (B, T) int64.
  at::Tensor attention_mask;  // (B, T), 1 = a real token, 0 = padding; undefined = all ones.
  at::Tensor token_type_ids;  // (B, T) int64, BERT only; undefined = all zeros.
};

// The label of a position that predicts nothing.
inline constexpr std::int64_t kIgnoredLabel = -100;

class LanguageModel : public torch::nn::Module {
 public:
  // (B, T, V).
  at::Tensor Logits(const ModelInput& input, ActivationTap* tap = nullptr);

  // Mean cross-entropy over the targets: the labels (B, T) that are not kIgnoredLabel. A masked model (BERT)
  // predicts each label at its own position; a causal one (OPT) predicts the label of t + 1 at t, and the
  // first label is never a target. 0 when there is no target. Without a tap the head is computed at the
  // targets only.
  at::Tensor Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap = nullptr);

  // Cross-entropy of every position, 0 where there is no target. Masked: (B, T); causal: (B, T - 1).
  at::Tensor LossPerToken(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap = nullptr);

  // Whether position t predicts the label of t + 1.
  virtual bool causal() const = 0;
  // The token whose embedding starts at zero and gets no gradient from the lookup.
  virtual std::int64_t pad_id() const = 0;
  virtual std::int64_t vocab_size() const = 0;
  virtual std::int64_t max_positions() const = 0;

 protected:
  // What the head reads: (B, T, width).
  virtual at::Tensor Encode(const ModelInput& input, ActivationTap* tap) = 0;
  // (..., width) -> (..., V).
  virtual at::Tensor Head(const at::Tensor& hidden, ActivationTap* tap) = 0;

 private:
  // Positions that predict, and what: hidden (N, width) or logits (N, V) in, with targets (N).
  at::Tensor Predicting(const at::Tensor& per_position) const;
  at::Tensor Targets(const at::Tensor& labels) const;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_LANGUAGE_MODEL_H_
