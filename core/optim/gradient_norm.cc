#include "core/optim/gradient_norm.h"

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include "base/check.h"

namespace inlier {

at::Tensor ClipGradientNorm(const std::vector<at::Tensor>& parameters, double max_norm) {
  c10::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  INLIER_CHECK(!gradients.empty());
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  if (max_norm > 0) at::_foreach_mul_(gradients, norm.add(1e-6).reciprocal().mul(max_norm).clamp_max(1.0));
  return norm;
}

}  // namespace inlier
