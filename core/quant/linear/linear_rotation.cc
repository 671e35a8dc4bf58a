#include "core/quant/linear/linear_rotation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/kron.h>
#include <ATen/ops/matmul.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random_stream.h"
#include "core/optim/orthogonal_matrix.h"

namespace inlier {

at::Tensor RotationMatrix(std::uint32_t seed, const std::string& purpose, std::int64_t size) {
  INLIER_CHECK(size >= 1);
  const std::int64_t even = size & -size;  // The largest power of two that divides it.
  const std::string name = absl::StrCat("quantization/rotation/", purpose, "/", size);
  RandomStream signs(seed, name, 0);
  // With the signs on its rows, x Q has them on x before it adds: else a mean that all features share, as GELU leaves one,
  // would be a single large element of the result.
  const at::Tensor hadamard = HadamardMatrix(even, signs).t().contiguous();
  if (even == size) return hadamard;
  RandomStream rest(seed, name, 1);
  return at::kron(hadamard, HaarMatrix(size / even, rest).contiguous());
}

const at::Tensor& LinearRotation::Matrix(Purpose purpose, std::int64_t size, const at::Tensor& like) {
  at::Tensor& matrix = matrices_[{purpose, size, like.scalar_type()}];
  if (!matrix.defined()) {
    const char* const name = purpose == Purpose::kResidual ? "residual" : "ffn";
    matrix = RotationMatrix(options_.seed, name, size).to(like.options());
  }
  return matrix;
}

const at::Tensor& LinearRotation::GainOf(const LinearPlace& place) const {
  const auto found = gains_.find(place.reads);
  INLIER_CHECK(found != gains_.end());  // Else its norm has not run.
  return found->second;
}

at::Tensor LinearRotation::Input(const LinearPlace& place, const at::Tensor& x) {
  if (place.reads_norm()) {
    const at::Tensor gain = GainOf(place).to(x.scalar_type());
    return at::matmul(x.div(gain.masked_fill(gain.eq(0), 1)), Matrix(Purpose::kResidual, x.size(-1), x));
  }
  return options_.ffn ? at::matmul(x, Matrix(Purpose::kFfn, x.size(-1), x)) : x;
}

at::Tensor LinearRotation::Weight(const LinearPlace& place, const at::Tensor& weight) {
  at::Tensor rotated = weight.to(at::kDouble);
  if (place.reads_norm()) {
    rotated = at::matmul(rotated * GainOf(place), Matrix(Purpose::kResidual, rotated.size(1), rotated));
  } else if (options_.ffn) {
    rotated = at::matmul(rotated, Matrix(Purpose::kFfn, rotated.size(1), rotated));
  }
  if (place.writes_residual())
    rotated = at::matmul(Matrix(Purpose::kResidual, rotated.size(0), rotated).t(), rotated);
  return rotated.to(weight.scalar_type());
}

at::Tensor LinearRotation::UsedWeight(const LinearPlace& place, const at::Tensor& rotated) {
  if (!place.writes_residual()) return rotated;
  const at::Tensor wide = rotated.to(at::kDouble);
  return at::matmul(Matrix(Purpose::kResidual, wide.size(0), wide), wide).to(rotated.scalar_type());
}

at::Tensor LinearRotation::Output(const LinearPlace& place, const at::Tensor& y) {
  return place.writes_residual() ? at::matmul(y, Matrix(Purpose::kResidual, y.size(-1), y)) : y;
}

at::Tensor LinearRotation::UsedOutput(const LinearPlace& place, const at::Tensor& rotated) {
  return place.writes_residual()
             ? at::matmul(rotated, Matrix(Purpose::kResidual, rotated.size(-1), rotated).t())
             : rotated;
}

}  // namespace inlier
