// The penalty on the outputs of feed-forward networks (training.regularizer.ffn_output) in one forward pass:
//
//   weight * mean over layers of mean((|x| / tau)^power), x the output of a layer's network before dropout
//
// Layers give it in both engines. Computed in float32 at least; tokens of padding count as others. One penalty serves one
// pass.
#ifndef INLIER_CORE_NN_FFN_PENALTY_H_
#define INLIER_CORE_NN_FFN_PENALTY_H_

#include <ATen/core/Tensor.h>

#include "core/kernels/rows.h"
#include "core/nn/scalar_mean.h"

namespace inlier {

class FfnPenalty {
 public:
  FfnPenalty(double weight, const kernels::ScaledPower& scaled) : weight_(weight), scaled_(scaled) {}

  const kernels::ScaledPower& scaled() const { return scaled_; }

  // Adds a layer: its network's output, or the mean that other code has computed of it.
  void AddOutput(const at::Tensor& x);
  void AddMean(const at::Tensor& mean) { means_.Add(mean); }

  // One number, part of the autograd graph. REQUIRES: a pass through a layer.
  at::Tensor Value() const { return means_.Times(weight_); }

 private:
  const double weight_;
  const kernels::ScaledPower scaled_;
  ScalarMean means_;
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_FFN_PENALTY_H_
