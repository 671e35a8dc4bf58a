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

// `grid_of` of each group: of all whole groups at once, and of the rest of the columns.
template <typename GridOf>
SliceGrid GroupGrid(const at::Tensor& x, std::int64_t group_size, GridOf grid_of) {
  INLIER_CHECK(x.dim() == 2 && group_size >= 1);
  const std::int64_t whole = x.size(1) / group_size;
  SliceGrid grid;
  if (whole > 0) {
    grid = grid_of(x.slice(1, 0, whole * group_size).reshape({x.size(0), whole, group_size}));
    grid.scale = grid.scale.squeeze(-1);
    if (grid.zero_point.defined()) grid.zero_point = grid.zero_point.squeeze(-1);
  }
  if (whole * group_size == x.size(1)) return grid;
  SliceGrid rest = grid_of(x.slice(1, whole * group_size));
  if (whole == 0) return rest;
  grid.scale = at::cat({grid.scale, rest.scale}, 1);
  if (grid.zero_point.defined()) grid.zero_point = at::cat({grid.zero_point, rest.zero_point}, 1);
  return grid;
}

}  // namespace

SliceGrid AbsmaxGroupGrid(const at::Tensor& x, int bits, std::int64_t group_size) {
  return GroupGrid(x, group_size,
                   [bits](const at::Tensor& groups) { return AbsmaxGrid(groups, bits, {-1}); });
}

SliceGrid ZeropointGroupGrid(const at::Tensor& x, int bits, std::int64_t group_size) {
  return GroupGrid(x, group_size,
                   [bits](const at::Tensor& groups) { return ZeropointGrid(groups, bits, {-1}); });
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
