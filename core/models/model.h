// A trained model of any architecture: the interface for the trainer, the evaluator, quantization and the
// outlier metrics.
//
// named_parameters() are the Hugging Face state-dict names, so that checkpoints move both ways; tied copies
// have no name. Dropout follows is_training() (train() / eval()). Every weight and activation that the
// reference code quantizes or measures goes through the tap of the call, in the order and under the names of
// core/models/sites.h; without a tap this costs nothing.
#ifndef INLIER_CORE_MODELS_MODEL_H_
#define INLIER_CORE_MODELS_MODEL_H_

#include <torch/nn/module.h>

#include <cstdint>
#include <utility>

#include "core/layer/precision.h"
#include "core/nn/activation_tap.h"
#include "core/nn/forward_context.h"

namespace inlier {

// One batch: B sequences of T tokens, or B images.
struct ModelInput {
  at::Tensor ids;             // (B, T) int64.
  at::Tensor attention_mask;  // (B, T), 1 = a real token, 0 = padding; undefined = all ones.
  at::Tensor token_type_ids;  // (B, T) int64, BERT only; undefined = all zeros.
  at::Tensor pixels;          // (B, channels, side, side), image classifiers only, without the other fields.
  layer::Products products = layer::Products::kReference;  // Other ones only where Model::can_fuse().
  std::uint64_t dropout_seed = 0;       // Of the draws of dropout and of roundings in this pass.
  std::int64_t first_example = 0;       // The place of row 0 in the micro-batch, where this is a part of one.
  FfnPenalty* ffn_penalty = nullptr;    // Gathers what the layers of a pass add to it; null: none.
  LinearArithmetic* linears = nullptr;  // How linears multiply; null: as LibTorch's. Only with kReference.

  std::int64_t examples() const { return (pixels.defined() ? pixels : ids).size(0); }
};

// The label of a position that predicts nothing.
inline constexpr std::int64_t kIgnoredLabel = -100;

class Model : public torch::nn::Module {
 public:
  // (B, T, V); of classifiers (B, classes), or (B, 1) for a number.
  virtual at::Tensor Logits(const ModelInput& input, ActivationTap* tap = nullptr) = 0;

  // Mean cross-entropy over the batch's targets; of numbers the mean squared error. With `label_smoothing` e
  // > 0: (1 - e) * cross-entropy + e * the mean over classes of -log p.
  virtual at::Tensor Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap = nullptr,
                          double label_smoothing = 0) = 0;

  // The number of targets that Loss is the mean over in a batch with these labels.
  virtual std::int64_t TargetsIn(const at::Tensor& labels) const { return labels.size(0); }

  // Runs the model for the tap alone.
  virtual void Observe(const ModelInput& input, ActivationTap& tap) { Logits(input, &tap); }

  // Logits and their targets: (N, classes), (N). Without the positions whose label is kIgnoredLabel.
  virtual std::pair<at::Tensor, at::Tensor> Predictions(const ModelInput& input, const at::Tensor& labels,
                                                        ActivationTap* tap = nullptr) {
    return {Logits(input, tap), labels};
  }

  // True when the fused engine has all of its layers' parts there.
  virtual bool can_fuse(layer::Place place) const = 0;

  // True when a position sees only earlier ones.
  virtual bool causal() const { return false; }
  // Of a causal model: the first so many tokens see each other too.
  virtual std::int64_t prefix_tokens() const { return 0; }

  // The token whose embedding starts at zero and gets no gradient from the lookup; -1 without one.
  virtual std::int64_t pad_id() const { return -1; }

 protected:
  // At the begin of a pass, once: the tap learns of it.
  ForwardContext ContextOf(const ModelInput& input, ActivationTap* tap) const {
    if (tap != nullptr) tap->OnPass(input.attention_mask);
    return {.tap = tap,
            .training = is_training(),
            .products = input.products,
            .dropout_seed = input.dropout_seed,
            .examples = input.examples(),
            .first_example = input.first_example,
            .ffn_penalty = input.ffn_penalty,
            .linears = input.linears};
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_MODEL_H_
