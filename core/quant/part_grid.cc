#include "core/quant/part_grid.h"

#include <ATen/TensorOperators.h>

#include <vector>

#include "base/check.h"
#include "core/quant/number_format.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

using Part = LinearQuantizationOptions::Part;
using Kind = LinearQuantizationOptions::Grid;

// The axes that one scale covers; none for all of them.
std::vector<std::int64_t> CoveredAxes(const at::Tensor& x, ScaleScope scope) {
  if (scope == ScaleScope::kTensor) return {};
  if (scope == ScaleScope::kRow) return {-1};
  INLIER_CHECK(x.dim() >= 2);
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 0; axis + 1 < x.dim(); ++axis) axes.push_back(axis);
  return axes;
}

SliceGrid IntegerGrid(const at::Tensor& x, const Part& part, Kind kind) {
  if (part.group_size > 0) {
    return kind == Kind::kAbsmax ? AbsmaxGroupGrid(x, part.bits, part.group_size, part.group_rows)
                                 : ZeropointGroupGrid(x, part.bits, part.group_size);
  }
  const std::vector<std::int64_t> axes = CoveredAxes(x, part.scope);
  return kind == Kind::kAbsmax ? AbsmaxGrid(x, part.bits, axes) : ZeropointGrid(x, part.bits, axes);
}

PartGrid FloatGrid(const at::Tensor& scale, v1::NumberFormat format, std::int64_t group_size = 0) {
  const double largest = ElementFormat(format).largest;
  return {.slices = {.scale = scale, .zero_point = {}, .integer_min = -largest, .integer_max = largest},
          .format = format,
          .group_size = group_size};
}

// The grid of the extremes themselves, and not of a part of them.
PartGrid WholeGrid(const at::Tensor& x, const Part& part, Kind kind) {
  if (part.format == v1::INTEGER)
    return {.slices = IntegerGrid(x, part, kind), .format = part.format, .group_size = part.group_size};
  if (const std::uint32_t block = BlockSizeOf(part.format); block > 0)
    return FloatGrid(BlockScales(x, part.format), part.format, block);
  const at::Tensor largest = part.group_size > 0 ? GroupMaxima(x, part.group_size, part.group_rows)
                                                 : x.abs().amax(CoveredAxes(x, part.scope), /*keepdim=*/true);
  return FloatGrid(ScaleOfLargest(largest, ElementFormat(part.format)), part.format, part.group_size);
}

PartGrid Clipped(PartGrid grid, double ratio) {
  if (ratio != 1) grid.slices.scale = grid.slices.scale * ratio;
  return grid;
}

}  // namespace

PartGrid GridOfPart(const at::Tensor& x, const Part& part, Kind kind) {
  return Clipped(WholeGrid(x, part, kind), part.clip_ratio);
}

PartGrid GridOfLargest(const at::Tensor& largest, const Part& part) {
  INLIER_CHECK(BlockSizeOf(part.format) == 0);
  const PartGrid grid = part.format == v1::INTEGER
                            ? PartGrid{.slices = AbsmaxGridOfLargest(largest, part.bits),
                                       .format = part.format,
                                       .group_size = 0}
                            : FloatGrid(ScaleOfLargest(largest, ElementFormat(part.format)), part.format);
  return Clipped(grid, part.clip_ratio);
}

PartGrid WithoutGroups(const PartGrid& grid, std::int64_t columns) {
  if (grid.group_size == 0) return grid;
  PartGrid expanded = grid;
  expanded.slices = ExpandGroups(grid.slices, grid.group_size, columns);
  expanded.group_size = 0;
  return expanded;
}

PartGrid ColumnOf(const PartGrid& grid, std::int64_t index) {
  INLIER_CHECK(grid.group_size == 0);
  const auto column = [index](const at::Tensor& x) {
    return x.defined() ? x.select(1, x.size(1) == 1 ? 0 : index) : x;
  };
  PartGrid one = grid;
  one.slices.scale = column(grid.slices.scale);
  one.slices.zero_point = column(grid.slices.zero_point);
  return one;
}

at::Tensor RoundToPart(const at::Tensor& x, const PartGrid& grid) {
  const PartGrid of_entries = WithoutGroups(grid, x.size(-1));
  if (grid.format == v1::INTEGER) return RoundToGrid(x, of_entries.slices);
  return RoundWithScale(x, of_entries.slices.scale, ElementFormat(grid.format));
}

QuantizationGrid ReportedGrid(const SliceGrid& grid) {
  const bool symmetric = !grid.zero_point.defined();
  QuantizationGrid report = {.scale = ToDoubles(grid.scale),
                             .zero_point = {},
                             .integer_min = grid.integer_min,
                             .integer_max = grid.integer_max,
                             .is_signed = symmetric};
  report.zero_point = symmetric ? std::vector<double>(report.scale.size(), 0.0) : ToDoubles(grid.zero_point);
  return report;
}

}  // namespace inlier
