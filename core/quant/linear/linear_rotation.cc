#include "core/quant/linear/linear_rotation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/kron.h>
#include <ATen/ops/matmul.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random_stream.h"
#include "core/optim/orthogonal_matrix.h"

namespace inlier {
namespace {

constexpr char kOfStream[] = "residual";
constexpr char kOfFfn[] = "ffn";

std::string HeadsOf(const std::string& attention) { return "heads/" + attention; }

}  // namespace

LinearRotation::LinearRotation(const RotationOptions& options) : options_(options) {
  if (options.learned) learned_.emplace(options.seed, *options.learned);
}

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

at::Tensor LinearRotation::Matrix(const std::string& name, std::int64_t size, const at::Tensor& like) {
  const bool is_learned = learned_ && name != kOfFfn;
  if (is_learned && learned_->learns()) return learned_->Matrix(name, size, like).to(like.options());
  at::Tensor& matrix = matrices_[{name, size, like.scalar_type()}];
  if (!matrix.defined()) {
    matrix = is_learned ? learned_->Matrix(name, size, like) : RotationMatrix(options_.seed, name, size);
    matrix = matrix.to(like.options());
  }
  return matrix;
}

at::Tensor LinearRotation::TurnedInside(const LinearPlace& place, const at::Tensor& x) {
  if (learned_ && place.source == LinearSource::kContext) {
    const std::string attention = place.reads.substr(0, place.reads.rfind('.'));
    const std::int64_t width = head_widths_.at(attention);
    return at::matmul(x.unflatten(-1, {x.size(-1) / width, width}), Matrix(HeadsOf(attention), width, x))
        .flatten(-2);
  }
  return options_.ffn ? at::matmul(x, Matrix(kOfFfn, x.size(-1), x)) : x;
}

absl::Status LinearRotation::Learn(const LossOfUpdate& loss_of) {
  return learned_ ? learned_->Learn(loss_of) : absl::OkStatus();
}

at::Tensor LinearRotation::LearnedRotationOf(const std::string& site, const at::Tensor& values) {
  return learned_ ? Matrix(HeadsOf(site), values.size(-1), values) : at::Tensor();
}

const at::Tensor& LinearRotation::GainOf(const LinearPlace& place) const {
  const auto found = gains_.find(place.reads);
  INLIER_CHECK(found != gains_.end());  // Else its norm has not run.
  return found->second;
}

const at::Tensor* LinearRotation::OffsetOf(const LinearPlace& place) const {
  const auto found = place.reads_norm() ? offsets_.find(place.reads) : offsets_.end();
  return found == offsets_.end() ? nullptr : &found->second;
}

at::Tensor LinearRotation::Centred(const at::Tensor& written, std::int64_t axis) const {
  return offsets_.empty() ? written : written - written.mean(axis, /*keepdim=*/true);
}

at::Tensor LinearRotation::WithoutOffset(const LinearPlace& place, const at::Tensor& x) {
  const at::Tensor* const offset = OffsetOf(place);
  return offset == nullptr ? x : x - offset->to(x.scalar_type());
}

at::Tensor LinearRotation::Shift(const LinearPlace& place, const at::Tensor& weight) {
  const at::Tensor* const offset = OffsetOf(place);
  return offset == nullptr ? at::Tensor() : at::matmul(weight.to(at::kDouble), offset->to(at::kDouble));
}

at::Tensor LinearRotation::Input(const LinearPlace& place, const at::Tensor& x) {
  if (place.reads_norm()) {
    const at::Tensor gain = GainOf(place).to(x.scalar_type());
    return at::matmul(x.div(gain.masked_fill(gain.eq(0), 1)), Matrix(kOfStream, x.size(-1), x));
  }
  return TurnedInside(place, x);
}

at::Tensor LinearRotation::Weight(const LinearPlace& place, const at::Tensor& weight) {
  at::Tensor rotated = weight.to(at::kDouble);
  if (place.reads_norm()) {
    rotated = at::matmul(rotated * GainOf(place), Matrix(kOfStream, rotated.size(1), rotated));
  } else {
    rotated = TurnedInside(place, rotated);
  }
  if (place.writes_residual())
    rotated = at::matmul(Matrix(kOfStream, rotated.size(0), rotated).t(), Centred(rotated, 0));
  return rotated.to(weight.scalar_type());
}

at::Tensor LinearRotation::UsedWeight(const LinearPlace& place, const at::Tensor& rotated) {
  if (!place.writes_residual()) return rotated;
  const at::Tensor wide = rotated.to(at::kDouble);
  return at::matmul(Matrix(kOfStream, wide.size(0), wide), wide).to(rotated.scalar_type());
}

at::Tensor LinearRotation::Output(const LinearPlace& place, const at::Tensor& y) {
  return place.writes_residual() ? at::matmul(Centred(y, -1), Matrix(kOfStream, y.size(-1), y)) : y;
}

at::Tensor LinearRotation::UsedOutput(const LinearPlace& place, const at::Tensor& rotated) {
  return place.writes_residual() ? at::matmul(rotated, Matrix(kOfStream, rotated.size(-1), rotated).t())
                                 : rotated;
}

}  // namespace inlier
