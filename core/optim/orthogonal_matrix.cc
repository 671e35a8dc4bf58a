#include "core/optim/orthogonal_matrix.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace inlier {
namespace {

// Independent standard normal numbers, by Box and Muller's pairs; (count), float64.
at::Tensor NormalNumbers(std::int64_t count, RandomStream& stream) {
  at::Tensor numbers = at::empty({count}, at::kDouble);
  double* out = numbers.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < count; i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - stream.Uniform()));  // 1 - u is never 0.
    const double angle = 2 * std::numbers::pi * stream.Uniform();
    out[i] = radius * std::cos(angle);
    if (i + 1 < count) out[i + 1] = radius * std::sin(angle);
  }
  return numbers;
}

}  // namespace

at::Tensor Orthonormalised(const at::Tensor& matrix) {
  const auto [q, r] = at::linalg_qr(matrix);
  const at::Tensor diagonal = r.diagonal();
  const at::Tensor one = at::ones_like(diagonal);
  return q.mul(at::where(diagonal.lt(0), one.neg(), one));
}

at::Tensor HaarMatrix(std::int64_t size, RandomStream& stream) {
  INLIER_CHECK(size >= 1);
  return Orthonormalised(NormalNumbers(size * size, stream).view({size, size}));
}

at::Tensor HadamardMatrix(std::int64_t size, RandomStream& stream) {
  INLIER_CHECK(size >= 1 && std::has_single_bit(static_cast<std::uint64_t>(size)));
  at::Tensor matrix = at::ones({1, 1}, at::kDouble);
  while (matrix.size(0) < size)
    matrix = at::cat({at::cat({matrix, matrix}, 1), at::cat({matrix, matrix.neg()}, 1)}, 0);
  at::Tensor signs = at::empty({size}, at::kDouble);
  double* out = signs.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < size; ++i) out[i] = stream.Next() >> 63 != 0 ? -1.0 : 1.0;
  return matrix.mul(signs.div_(std::sqrt(static_cast<double>(size))));
}

}  // namespace inlier
