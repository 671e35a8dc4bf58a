#include "core/quant/slice_grid.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

#include <cstdint>

#include "base/check.h"

namespace inlier {
namespace {

at::Tensor InFloatAtLeast(const at::Tensor& x) {
  return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

// On a GPU, a division by a number held by the CPU would become a multiplication by its inverse.
at::Tensor Divide(const at::Tensor& x, double divisor) { return x.div(at::full_like(x, divisor)); }

std::int64_t PowerOfTwo(int exponent) { return std::int64_t{1} << exponent; }

}  // namespace

SliceGrid AbsmaxGrid(const at::Tensor& x, int bits, at::IntArrayRef dims) {
  return AbsmaxGridOfLargest(InFloatAtLeast(x).abs().amax(dims, /*keepdim=*/true), bits);
}

SliceGrid AbsmaxGridOfLargest(const at::Tensor& largest, int bits) {
  INLIER_CHECK(bits >= 2 && bits <= 16);
  const double levels = static_cast<double>(PowerOfTwo(bits - 1) - 1);
  at::Tensor scale = Divide(InFloatAtLeast(largest), levels);
  scale = scale.masked_fill_(scale.eq(0), 1);
  return {.scale = scale, .zero_point = {}, .integer_min = -levels, .integer_max = levels};
}

SliceGrid ZeropointGrid(const at::Tensor& x, int bits, at::IntArrayRef dims) {
  INLIER_CHECK(bits >= 2 && bits <= 16);
  const double levels = static_cast<double>(PowerOfTwo(bits) - 1);
  const at::Tensor values = InFloatAtLeast(x);
  const at::Tensor low = values.amin(dims, /*keepdim=*/true);
  const at::Tensor scale = Divide(values.amax(dims, /*keepdim=*/true).sub_(low), levels);
  return {
      .scale = scale, .zero_point = low.neg().div_(scale).round_(), .integer_min = 0, .integer_max = levels};
}

at::Tensor RoundToIntegers(const at::Tensor& x, const SliceGrid& grid) {
  at::Tensor integers = InFloatAtLeast(x).div(grid.scale).round_();
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
