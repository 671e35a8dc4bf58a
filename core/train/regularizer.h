// Penalties on the activations of one forward pass, to be added to its loss (training.regularizer):
//
//   ffn_output:  weight * mean over layers of mean((|x| / tau)^power), x the output of the feed-forward network
//   kurtosis:    weight * mean over the linears of all layers of mean over tokens of k(y), y the linear's output,
//                k(y) = mean (y_j - mean)^4 / (mean (y_j - mean)^2 + 1e-12)^2
//
// Sources: FfnOutputPenaltySpec and KurtosisPenaltySpec in training_spec.proto. Layers weigh equally, so that a weight
// has the same meaning at every depth. Both are computed in float32 at least; tokens of padding count as others.
//
// Thread safety: none; one tap, one pass.
#ifndef INLIER_CORE_TRAIN_REGULARIZER_H_
#define INLIER_CORE_TRAIN_REGULARIZER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "core/nn/activation_tap.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

// True when `spec` adds anything to the loss.
bool HasPenalty(const v1::RegularizerSpec& spec);

// Passes every tensor unchanged and keeps the penalties as parts of the autograd graph.
class RegularizerTap : public ActivationTap {
 public:
  explicit RegularizerTap(const v1::RegularizerSpec& spec) : spec_(spec) {}

  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override;
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override;

  // One number. REQUIRES: HasPenalty, and a pass through a layer.
  at::Tensor Penalty() const;

 private:
  struct Mean {
    at::Tensor sum;
    std::int64_t count = 0;
    void Add(const at::Tensor& value) {
      sum = sum.defined() ? sum.add(value) : value;
      ++count;
    }
  };

  const v1::RegularizerSpec spec_;
  Mean ffn_output_, kurtosis_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_REGULARIZER_H_
