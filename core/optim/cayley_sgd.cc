#include "core/optim/cayley_sgd.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>

#include "base/check.h"

namespace inlier {
namespace {

constexpr int kIterations = 5;
constexpr double kSmallestNorm = 1e-8;

}  // namespace

at::Tensor CayleySgdUpdate(const at::Tensor& matrix, const at::Tensor& gradient, double learning_rate) {
  INLIER_CHECK(matrix.dim() == 2 && matrix.size(0) == matrix.size(1) && gradient.sizes() == matrix.sizes());
  const c10::NoGradGuard no_grad;
  const at::Tensor x = matrix.t(), v = gradient.t().neg(), vr = at::matmul(v, matrix);
  const at::Tensor half = vr - at::matmul(x, at::matmul(matrix, vr)).mul(0.5);
  const at::Tensor w = half - half.t();
  const at::Tensor a = w.abs().sum(0).amax().add(kSmallestNorm).reciprocal().clamp_max(learning_rate);
  at::Tensor y = x + v * a;
  for (int i = 0; i < kIterations; ++i) y = x + at::matmul(w, (x + y).mul(0.5)) * a;
  return y.t().contiguous();
}

}  // namespace inlier
