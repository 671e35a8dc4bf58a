#include "core/nn/dropout.h"

#include <ATen/Functions.h>

#include "core/layer_cpu/parallel.h"
#include "core/layer_cuda/layer.h"

namespace inlier {
namespace {

template <typename R>
void FillFactors(const kernels::Dropout& dropout, std::int64_t rows, std::int64_t columns, R* factors) {
  layer::cpu::ParallelFor(rows, [&](std::int64_t row) {
    kernels::DropoutFactors(dropout, static_cast<std::uint64_t>(row), columns, factors + row * columns);
  });
}

}  // namespace

at::Tensor DropOut(const at::Tensor& x, double p, const ForwardContext& context) {
  const std::int64_t columns = x.size(-1), rows = columns == 0 ? 0 : x.numel() / columns;
  const kernels::Dropout dropout = context.NextDropout(p, rows / context.examples);
  if (!dropout.active()) return x;
  if (context.products != layer::Products::kReference && layer::gpu::Holds(x))
    return at::mul(x, layer::gpu::DropoutFactors(dropout, x));
  if (!x.is_cpu()) return at::dropout(x, p, /*train=*/true);
  const bool wide = x.scalar_type() == at::kDouble;
  const at::Tensor factors = at::empty(x.sizes(), x.options().dtype(wide ? at::kDouble : at::kFloat));
  if (wide) {
    FillFactors(dropout, rows, columns, factors.mutable_data_ptr<double>());
  } else {
    FillFactors(dropout, rows, columns, factors.mutable_data_ptr<float>());
  }
  return at::mul(x, wide || x.scalar_type() == at::kFloat ? factors : factors.to(x.scalar_type()));
}

}  // namespace inlier
