#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include "core/layer_cuda/launch.h"
#include "core/layer_cuda/layer_parts.h"

namespace inlier::layer::gpu {

// 0 + dropout(1).
at::Tensor DropoutFactors(const kernels::Dropout& dropout, const at::Tensor& x) {
  const at::Tensor ones = at::ones(x.sizes(), x.options().dtype(at::kFloat).requires_grad(false));
  const at::Tensor zeros = at::zeros_like(ones), factors = at::empty_like(ones);
  const std::int64_t width = x.size(-1);
  if (x.numel() == 0) return factors;
  const cuda::ResidualNorm<float> call = {
      .rows = x.numel() / width, .width = width, .update = Data<float>(ones), .dropout = dropout};
  Check(cuda::ResidualNormForward<float>(call, Data<float>(zeros), Data<float>(factors), nullptr, nullptr,
                                         nullptr, nullptr, StreamOf(x)),
        "ResidualNormForward");
  return factors;
}

}  // namespace inlier::layer::gpu
