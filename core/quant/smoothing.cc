#include "core/quant/smoothing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <c10/core/GradMode.h>

#include "base/check.h"

namespace inlier {

at::Tensor SmoothingFactors(const at::Tensor& input_maximum, const std::vector<at::Tensor>& weights,
                            double alpha) {
  INLIER_CHECK(input_maximum.dim() == 1 && !weights.empty() && alpha >= 0 && alpha <= 1);
  const c10::NoGradGuard no_grad;
  at::Tensor weight_maximum;
  for (const at::Tensor& weight : weights) {
    INLIER_CHECK(weight.dim() == 2 && weight.size(1) == input_maximum.size(0));
    const at::Tensor largest = weight.abs().amax(0);
    weight_maximum = weight_maximum.defined() ? at::maximum(weight_maximum, largest) : largest;
  }
  const at::Tensor of_input = input_maximum.to(at::kDouble), of_weight = weight_maximum.to(at::kDouble);
  return of_input.pow(alpha)
      .div_(of_weight.pow(1 - alpha))
      .masked_fill_(of_input.eq(0).logical_or(of_weight.eq(0)), 1)
      .to(input_maximum.scalar_type());
}

}  // namespace inlier
