#include "core/layer_cpu/weight_gradient.h"

#include <algorithm>
#include <vector>

#include "core/layer_cpu/parallel.h"

namespace inlier::layer::cpu {
namespace {

constexpr std::int64_t kRowsAtOnce = 512;  // A block of either side and the sums fit into the second cache.
constexpr std::int64_t kColumnsOfRight = 256;  // Of one item.

}  // namespace

template <typename T>
void ProductOverRows(std::int64_t rows, const T* left, std::int64_t left_stride, std::int64_t left_columns,
                     const T* right, std::int64_t right_stride, std::int64_t right_columns, Real<T>* out,
                     std::int64_t out_stride, bool add) {
  const std::int64_t parts = (rows + kRowsAtOnce - 1) / kRowsAtOnce;
  const std::int64_t groups = (right_columns + kColumnsOfRight - 1) / kColumnsOfRight;
  const std::int64_t part_size = PaddedDepth<T>(kRowsAtOnce) * right_columns;
  static thread_local std::vector<T> packed;  // Of the calling thread; kept for the next product.
  packed.resize(std::max(packed.size(), static_cast<std::size_t>(parts * part_size)));
  T* const right_packed = packed.data();
  const auto rows_of = [rows](std::int64_t part) { return std::min(kRowsAtOnce, rows - part * kRowsAtOnce); };
  ParallelFor(parts * groups, [&](std::int64_t item) {
    const std::int64_t part = item / groups, first = item % groups * kColumnsOfRight;
    const std::int64_t count = rows_of(part);
    PackRows(right + part * kRowsAtOnce * right_stride + first, right_stride, count,
             std::min(kColumnsOfRight, right_columns - first),
             right_packed + part * part_size + first * PaddedDepth<T>(count));
  });
  // Fewer rows of the result an item where there would be too few items.
  const std::int64_t tile = left_columns * groups <= 4 * 64 ? 32 : 64;
  const std::int64_t tiles = (left_columns + tile - 1) / tile;
  ParallelFor(tiles * groups, [&](std::int64_t item) {
    const std::int64_t top = item / groups * tile, first = item % groups * kColumnsOfRight;
    const std::int64_t height = std::min(tile, left_columns - top);
    T* const transposed = reinterpret_cast<T*>(
        Scratch(ScratchSlot::kWeightGradient, sizeof(T) * tile * PaddedDepth<T>(kRowsAtOnce)));
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t count = rows_of(part), depth = PaddedDepth<T>(count);
      TransposeLeft(left + part * kRowsAtOnce * left_stride + top, left_stride, count, height, transposed);
      Multiply<T>(height, std::min(kColumnsOfRight, right_columns - first), count, transposed, depth,
                  right_packed + part * part_size + first * depth, out + top * out_stride + first, out_stride,
                  add || part > 0);
    }
  });
}

template void ProductOverRows<float>(std::int64_t, const float*, std::int64_t, std::int64_t, const float*,
                                     std::int64_t, std::int64_t, float*, std::int64_t, bool);
template void ProductOverRows<Bf16>(std::int64_t, const Bf16*, std::int64_t, std::int64_t, const Bf16*,
                                    std::int64_t, std::int64_t, float*, std::int64_t, bool);
template void ProductOverRows<double>(std::int64_t, const double*, std::int64_t, std::int64_t, const double*,
                                      std::int64_t, std::int64_t, double*, std::int64_t, bool);

}  // namespace inlier::layer::cpu
