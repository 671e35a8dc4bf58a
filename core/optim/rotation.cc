#include "core/optim/rotation.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "base/check.h"

namespace inlier {
namespace {

// `blocks` (count, size, size) on the axis of `x` of length count * size.
at::Tensor TurnBlocks(const at::Tensor& x, std::int64_t axis, const at::Tensor& blocks) {
  const std::int64_t count = blocks.size(0), size = blocks.size(1);
  TORCH_CHECK(x.size(axis) == count * size, "a rotation of ", count, " x ", size, " on axis ", axis,
              " of a tensor of shape ", x.sizes());
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t i = 0; i < x.dim(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : x.size(i);
  if (inner == 1) {  // Rows times Q^T: one product a block; matmul makes one a row.
    const at::Tensor rows = x.reshape({outer, count, size}).transpose(0, 1);
    return at::bmm(rows, blocks.mT()).transpose(0, 1).reshape(x.sizes());
  }
  return at::matmul(blocks, x.reshape({outer, count, size, inner})).reshape(x.sizes());
}

at::Tensor TurnAxis(const at::Tensor& x, const AxisRotation& rotation, std::int64_t axis, bool inverse) {
  const auto oriented = [inverse](const at::Tensor& blocks) { return inverse ? blocks.mT() : blocks; };
  if (!rotation.rest.defined()) return TurnBlocks(x, axis, oriented(rotation.blocks));
  const std::int64_t split = rotation.blocks.size(0) * rotation.blocks.size(1);
  return at::cat(
      {TurnBlocks(x.narrow(axis, 0, split), axis, oriented(rotation.blocks)),
       TurnBlocks(x.narrow(axis, split, rotation.rest.size(0)), axis, oriented(rotation.rest.unsqueeze(0)))},
      axis);
}

std::int64_t Length(const AxisRotation& rotation) {
  return rotation.blocks.size(0) * rotation.blocks.size(1) +
         (rotation.rest.defined() ? rotation.rest.size(0) : 0);
}

}  // namespace

AxisRotation AxisRotation::Dense(std::int64_t axis, const at::Tensor& matrix) {
  return {.axis = axis, .blocks = matrix.unsqueeze(0), .rest = {}};
}

Rotation::Rotation(std::vector<AxisRotation> axes) : axes_(std::move(axes)) { INLIER_CHECK(!axes_.empty()); }

Rotation Rotation::OfVector(const at::Tensor& matrix) {
  Rotation rotation({AxisRotation::Dense(0, matrix)});
  rotation.of_vector_ = true;
  return rotation;
}

at::Tensor Rotation::Turn(const at::Tensor& x, bool inverse) const {
  c10::NoGradGuard no_grad;
  at::Tensor y = of_vector_ ? x.reshape({-1}) : x;
  for (const AxisRotation& rotation : axes_) y = TurnAxis(y, rotation, rotation.axis, inverse);
  return y.reshape(x.sizes()).contiguous();
}

at::Tensor Rotation::Apply(const at::Tensor& x) const { return Turn(x, /*inverse=*/false); }

// Rotations of different axes commute, so the order need not be reversed.
at::Tensor Rotation::ApplyInverse(const at::Tensor& x) const { return Turn(x, /*inverse=*/true); }

Rotation Rotation::To(const at::Tensor& like) const {
  Rotation moved = *this;
  for (AxisRotation& rotation : moved.axes_) {
    rotation.blocks = rotation.blocks.to(like.device(), like.scalar_type());
    if (rotation.rest.defined()) rotation.rest = rotation.rest.to(like.device(), like.scalar_type());
  }
  return moved;
}

at::Tensor Rotation::Checksum() const {
  const Rotation exact = To(at::empty({0}, at::kDouble));
  at::Tensor sums = at::empty({static_cast<std::int64_t>(axes_.size())}, at::kDouble);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const at::Tensor places = at::arange(1, Length(exact.axes_[i]) + 1, at::kDouble);
    const at::Tensor turned = TurnAxis(places.sin(), exact.axes_[i], /*axis=*/0, /*inverse=*/false);
    sums[static_cast<std::int64_t>(i)] = at::dot(places.cos(), turned);
  }
  return sums;
}

}  // namespace inlier
