// Penalties on the activations of one forward pass, to be added to its loss (training.regularizer):
//
//   ffn_output:  core/nn/ffn_penalty.h, which both engines compute
//   kurtosis:    weight * mean over the linears of all layers of mean over tokens of k(y), y the linear's output,
//                k(y) = mean (y_j - mean)^4 / (mean (y_j - mean)^2 + 1e-12)^2
//
// Sources: FfnOutputPenaltySpec and KurtosisPenaltySpec in training_spec.proto. Layers weigh equally, so that a weight
// has the same meaning at every depth. Both are computed in float32 at least; tokens of padding count as others.
//
// Thread safety: none; one regularizer, one pass.
#ifndef INLIER_CORE_TRAIN_REGULARIZER_H_
#define INLIER_CORE_TRAIN_REGULARIZER_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "core/nn/activation_tap.h"
#include "core/nn/ffn_penalty.h"
#include "core/nn/scalar_mean.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

bool HasPenalty(const v1::RegularizerSpec& spec);

// Passes every tensor unchanged and keeps the penalty as a part of the autograd graph.
class KurtosisTap : public ActivationTap {
 public:
  explicit KurtosisTap(double weight) : weight_(weight) {}

  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override;

  // One number. REQUIRES: a pass through a layer.
  at::Tensor Penalty() const { return means_.Times(weight_); }

 private:
  const double weight_;
  ScalarMean means_;
};

// Gathers the penalties of one pass, which has its ffn_penalty() in the input and its tap().
class Regularizer {
 public:
  explicit Regularizer(const v1::RegularizerSpec& spec);
  Regularizer(const Regularizer&) = delete;
  Regularizer& operator=(const Regularizer&) = delete;

  // Null where nothing of the kind is penalised.
  FfnPenalty* ffn_penalty() { return ffn_output_ ? &*ffn_output_ : nullptr; }
  ActivationTap* tap() { return kurtosis_ ? &*kurtosis_ : nullptr; }

  // One number; undefined without a penalty. REQUIRES: a pass through a layer.
  at::Tensor Penalty() const;

 private:
  std::optional<FfnPenalty> ffn_output_;
  std::optional<KurtosisTap> kurtosis_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_REGULARIZER_H_
