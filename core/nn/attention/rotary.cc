#include "core/nn/attention/rotary.h"

#include <ATen/Functions.h>

namespace inlier {

RotaryTable MakeRotaryTable(std::int64_t tokens, std::int64_t head_size, double theta,
                            const at::TensorOptions& options) {
  TORCH_CHECK(head_size % 2 == 0, "rotary positions need an even head size, not ", head_size);
  // In float64 for every type of model: the angles of late tokens are large.
  const auto wide = options.dtype(at::kDouble);
  const at::Tensor frequencies =
      at::pow(theta, at::arange(0, head_size, 2, wide).div(-static_cast<double>(head_size)));
  const at::Tensor angles = at::arange(tokens, wide).unsqueeze(1).mul(frequencies).unsqueeze(1);
  return {angles.cos().to(options.dtype()), angles.sin().to(options.dtype())};
}

at::Tensor Rotate(const at::Tensor& x, const RotaryTable& table) {
  if (!table.cosine.defined()) return x;
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  const at::Tensor &u1 = halves[0], &u2 = halves[1];
  return at::cat({u1 * table.cosine - u2 * table.sine, u2 * table.cosine + u1 * table.sine}, -1)
      .to(x.scalar_type());
}

}  // namespace inlier
