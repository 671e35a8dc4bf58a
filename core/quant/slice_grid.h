// Grids from a tensor's own extremes, one for each slice of it, and rounding to them, simulated in floating point.
//
//   absmax, b bits:     Q = 2^(b-1) - 1
//                       s = max|x| / Q, 1 where that is 0
//                       q = clip(round(x / s), -Q, Q)
//                       x' = s q
//   zeropoint, b bits:  s = (max - min) / (2^b - 1)
//                       z = round(-min / s), not clamped
//                       q = clip(round(x / s) + z, 0, 2^b - 1)
//                       x' = s (q - z); a slice without extent (s = 0) stays as it is
//
// The range of zeropoint need not contain 0.
//
// (Dettmers et al. 2022; Kaul et al. 2025, section 5.) round is half to even, x / s a true division in x's
// own precision; half and bfloat16 tensors are rounded in float. A slice with NaN or infinity becomes NaN, so
// that an earlier fault stays visible. No call waits for the device.
#ifndef INLIER_CORE_QUANT_SLICE_GRID_H_
#define INLIER_CORE_QUANT_SLICE_GRID_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace inlier {

struct SliceGrid {
  at::Tensor scale;       // The tensor's shape, with size 1 on the axes of a slice.
  at::Tensor zero_point;  // The same; undefined for absmax.
  double integer_min = 0;
  double integer_max = 0;
};

// The grid of each slice of `x`, which covers the axes `dims` (none: everything is one slice).
// REQUIRES: 2 <= bits <= 16; `x` has elements.
SliceGrid AbsmaxGrid(const at::Tensor& x, int bits, at::IntArrayRef dims);
SliceGrid ZeropointGrid(const at::Tensor& x, int bits, at::IntArrayRef dims);

// The absmax grid of slices whose largest magnitudes are `largest`.
SliceGrid AbsmaxGridOfLargest(const at::Tensor& largest, int bits);

// max |x| of each group of `group_size` entries of the last axis, of tiles over `group_rows` indices of the axis before it:
// x (…, rows, columns) -> (…, rows, groups), the same for all rows of a tile. The last group and the last tile are smaller
// where the sizes are not multiples. REQUIRES: group_size, group_rows and columns >= 1; group_rows = 1 for an x of one axis.
at::Tensor GroupMaxima(const at::Tensor& x, std::int64_t group_size, std::int64_t group_rows = 1);

// The grids of such groups of x (…, columns): scale and zero point are (…, groups). REQUIRES: as GroupMaxima.
SliceGrid AbsmaxGroupGrid(const at::Tensor& x, int bits, std::int64_t group_size,
                          std::int64_t group_rows = 1);
SliceGrid ZeropointGroupGrid(const at::Tensor& x, int bits, std::int64_t group_size);

// The same grid, (…, groups), with a scale for each column, (…, columns), for RoundToGrid.
SliceGrid ExpandGroups(const SliceGrid& grid, std::int64_t group_size, std::int64_t columns);

// q above, in x's dtype (half and bfloat16: float). Not meaningful in a slice without extent.
at::Tensor RoundToIntegers(const at::Tensor& x, const SliceGrid& grid);

// x' above: same shape, dtype and device as `x`. REQUIRES: the grid's scales broadcast to `x`.
at::Tensor RoundToGrid(const at::Tensor& x, const SliceGrid& grid);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_SLICE_GRID_H_
