// The grid of one weight, input or output in the schemes `absmax` and `zeropoint`: integers (slice_grid.h) or small
// floating-point numbers (number_format.h).
#ifndef INLIER_CORE_QUANT_PART_GRID_H_
#define INLIER_CORE_QUANT_PART_GRID_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/quant/linear/linear_options.h"
#include "core/quant/quantizer.h"
#include "core/quant/slice_grid.h"

namespace inlier {

struct PartGrid {
  SliceGrid slices;  // Of other formats than INTEGER the scales alone; integer_max is the largest number.
  v1::NumberFormat format = v1::INTEGER;
  // Entries of the last axis that share a scale; 0: `slices` broadcasts to the tensor.
  std::int64_t group_size = 0;

  bool defined() const { return slices.scale.defined(); }
};

// The grid of `x` from its own extremes, which clips what is beyond clip_ratio of them. REQUIRES: `x` has elements; a weight with group_rows is (out, in).
PartGrid GridOfPart(const at::Tensor& x, const LinearQuantizationOptions::Part& part,
                    LinearQuantizationOptions::Grid kind);

// The absmax grid of a whole tensor whose largest magnitude is `largest`, (). REQUIRES: no format in blocks, no groups.
PartGrid GridOfLargest(const at::Tensor& largest, const LinearQuantizationOptions::Part& part);

// The same grid with a scale for each entry of an axis of `columns` entries where it has groups.
PartGrid WithoutGroups(const PartGrid& grid, std::int64_t columns);

// The grid of column `index` of a weight (out, in), a tensor (out). REQUIRES: no groups.
PartGrid ColumnOf(const PartGrid& grid, std::int64_t index);

// `x` on the grid: same shape, dtype and device.
at::Tensor RoundToPart(const at::Tensor& x, const PartGrid& grid);

// `rounded`, to rounding, with the gradient of `exact`, as if it were not rounded (straight-through; Bengio et al. 2013).
inline at::Tensor StraightThrough(const at::Tensor& exact, const at::Tensor& rounded) {
  return exact + (rounded - exact).detach();
}

// The same numbers for a report, on the CPU.
QuantizationGrid ReportedGrid(const SliceGrid& grid);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_PART_GRID_H_
