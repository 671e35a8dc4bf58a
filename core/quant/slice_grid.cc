#include "core/quant/slice_grid.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

#include "base/check.h"
#include "core/nn/precision.h"

namespace inlier {
namespace {

// On a GPU, a division by a number held by the CPU would become a multiplication by its inverse.
at::Tensor Divide(const at::Tensor& x, double divisor) { return x.div(at::full_like(x, divisor)); }

std::int64_t PowerOfTwo(int exponent) { return std::int64_t{1} << exponent; }

}  // namespace

SliceGrid AbsmaxGrid(const at::Tensor& x, int bits, at::IntArrayRef dims) {
  return AbsmaxGridOfLargest(AtLeastFloat32(x).abs().amax(dims, /*keepdim=*/true), bits);
}

SliceGrid AbsmaxGridOfLargest(const at::Tensor& largest, int bits) {
  INLIER_CHECK(bits >= 2 && bits <= 16);
  const double levels = static_cast<double>(PowerOfTwo(bits - 1) - 1);
  at::Tensor scale = Divide(AtLeastFloat32(largest), levels);
  scale = scale.masked_fill_(scale.eq(0), 1);
  return {.scale = scale, .zero_point = {}, .integer_min = -levels, .integer_max = levels};
}

SliceGrid ZeropointGrid(const at::Tensor& x, int bits, at::IntArrayRef dims) {
  INLIER_CHECK(bits >= 2 && bits <= 16);
  const double levels = static_cast<double>(PowerOfTwo(bits) - 1);
  const at::Tensor values = AtLeastFloat32(x);
  const at::Tensor low = values.amin(dims, /*keepdim=*/true);
  const at::Tensor scale = Divide(values.amax(dims, /*keepdim=*/true).sub_(low), levels);
  return {
      .scale = scale, .zero_point = low.neg().div_(scale).round_(), .integer_min = 0, .integer_max = levels};
}

namespace {

// x (…, n) as (…, ceil(n / size), size), the last group filled up with the last entry, which changes none of its extremes.
at::Tensor InGroups(const at::Tensor& x, std::int64_t axis, std::int64_t size) {
  INLIER_CHECK(size >= 1 && x.size(axis) >= 1);
  const std::int64_t missing = (size - x.size(axis) % size) % size;
  at::Tensor filled = x;
  if (missing > 0)
    filled = at::cat({x, x.narrow(axis, x.size(axis) - 1, 1).repeat_interleave(missing, axis)}, axis);
  return filled.unflatten(axis, {filled.size(axis) / size, size});
}

}  // namespace

at::Tensor GroupMaxima(const at::Tensor& x, std::int64_t group_size, std::int64_t group_rows) {
  at::Tensor maxima = InGroups(x.abs(), x.dim() - 1, group_size).amax(-1);
  if (group_rows == 1) return maxima;
  const std::int64_t axis = x.dim() - 2;
  maxima = InGroups(maxima, axis, group_rows).amax(axis + 1);
  return maxima.repeat_interleave(group_rows, axis).narrow(axis, 0, x.size(axis));
}

SliceGrid AbsmaxGroupGrid(const at::Tensor& x, int bits, std::int64_t group_size, std::int64_t group_rows) {
  return AbsmaxGridOfLargest(GroupMaxima(AtLeastFloat32(x), group_size, group_rows), bits);
}

SliceGrid ZeropointGroupGrid(const at::Tensor& x, int bits, std::int64_t group_size) {
  SliceGrid grid = ZeropointGrid(InGroups(x, x.dim() - 1, group_size), bits, {-1});
  grid.scale = grid.scale.squeeze(-1);
  grid.zero_point = grid.zero_point.squeeze(-1);
  return grid;
}

SliceGrid ExpandGroups(const SliceGrid& grid, std::int64_t group_size, std::int64_t columns) {
  const auto expand = [&](const at::Tensor& by_group) {
    return by_group.defined() ? by_group.repeat_interleave(group_size, -1).slice(-1, 0, columns)
                              : at::Tensor();
  };
  SliceGrid expanded = grid;
  expanded.scale = expand(grid.scale);
  expanded.zero_point = expand(grid.zero_point);
  return expanded;
}

at::Tensor RoundToIntegers(const at::Tensor& x, const SliceGrid& grid) {
  at::Tensor integers = AtLeastFloat32(x).div(grid.scale).round_();
  if (grid.zero_point.defined()) integers.add_(grid.zero_point);
  return integers.clamp_(grid.integer_min, grid.integer_max);
}

at::Tensor RoundToGrid(const at::Tensor& x, const SliceGrid& grid) {
  at::Tensor result = RoundToIntegers(x, grid);
  if (!grid.zero_point.defined()) return result.mul_(grid.scale).to(x.scalar_type());
  result.sub_(grid.zero_point).mul_(grid.scale);
  return at::where(grid.scale.eq(0), x, result.to(x.scalar_type()));
}

}  // namespace inlier
