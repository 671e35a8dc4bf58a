#include "core/layer_cpu/matmul.h"

#include <ATen/native/CPUBlas.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/layer_cpu/parallel.h"

namespace inlier::layer::cpu {
namespace {

namespace blas = at::native::cpublas;

// ProductOverRows cuts by these.
constexpr std::int64_t kRowsAtOnce = 512;  // A block of either side and the sums fit into the second cache.
constexpr std::int64_t kColumnsOfRight = 256;  // Of one item.
// Of a product of widened operands: both copies stay in the second cache.
constexpr std::int64_t kDepthAtOnce = 512;

template <typename T>
void MultiplyBlock(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride,
                   const T* b, Real<T>* c, std::int64_t c_stride, bool add) {
  if constexpr (std::is_same_v<T, double>) {
    for (std::int64_t i = 0; i < m; ++i) {
      double* row = c + i * c_stride;
      if (!add) std::fill(row, row + n, 0.0);
      for (std::int64_t l = 0; l < k; ++l) {
        for (std::int64_t j = 0; j < n; ++j) row[j] += a[i * a_stride + l] * b[l * n + j];
      }
    }
  } else if constexpr (std::is_same_v<T, Bf16>) {
    blas::brgemm(m, n, k, a_stride, n, c_stride, add, reinterpret_cast<const c10::BFloat16*>(a),
                 reinterpret_cast<const c10::BFloat16*>(b), c, /*is_vnni=*/true);
  } else {
    blas::brgemm(m, n, k, a_stride, n, c_stride, add, a, b, c, /*is_vnni=*/false);
  }
}

// True where the block kernel runs for T on this processor.
template <typename T>
bool BlockRuns() {
  static const bool runs = [] {
    const T a[2] = {}, b[2] = {};
    Real<T> c[1] = {};
    try {
      MultiplyBlock<T>(1, 1, PaddedDepth<T>(1), a, PaddedDepth<T>(1), b, c, 1, /*add=*/false);
      return true;
    } catch (const c10::Error&) {
      return false;
    }
  }();
  return runs;
}

// True where products of bfloat16 are those of its numbers as float: the processor has no instructions for the former, or,
// as Intel's without AMX, none that are faster (docs/performance.md).
bool WidensBfloat16() {
#if defined(__x86_64__)
  static const bool has_faster = (__builtin_cpu_supports("amx-bf16") ||
                                  (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_is("amd"))) &&
                                 BlockRuns<Bf16>();
  return !has_faster;
#else
  return true;
#endif
}

// Multiply by way of float copies. The sums are float in either case; only their order is another.
void MultiplyWidened(std::int64_t m, std::int64_t n, std::int64_t depth, const Bf16* a, std::int64_t a_stride,
                     const Bf16* packed, float* c, std::int64_t c_stride, bool add) {
  const std::int64_t at_once = std::min(depth, kDepthAtOnce);
  ScratchCutter cutter(Scratch(ScratchSlot::kWidened, ScratchCutter::BytesOf<float>(m * at_once) +
                                                          ScratchCutter::BytesOf<float>(kPanel * at_once)));
  float* const left = cutter.Take<float>(m * at_once);
  float* const right = cutter.Take<float>(kPanel * at_once);
  for (std::int64_t first = 0; first < depth; first += kDepthAtOnce) {
    const std::int64_t rows = std::min(kDepthAtOnce, depth - first);
    for (std::int64_t i = 0; i < m; ++i) kernels::Widen(a + i * a_stride + first, rows, left + i * rows);
    for (std::int64_t column = 0; column < n; column += kPanel) {
      const std::int64_t width = std::min(kPanel, n - column);
      kernels::WidenPanel(packed + column * depth + first * width, rows, width, right);
      MultiplyBlock<float>(m, width, rows, left, rows, right, c + column, c_stride, add || first > 0);
    }
  }
}

}  // namespace

template <typename T>
void Multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_stride,
              const T* packed, Real<T>* c, std::int64_t c_stride, bool add) {
  const std::int64_t depth = PaddedDepth<T>(k);
  if constexpr (std::is_same_v<T, Bf16>) {
    if (WidensBfloat16()) return MultiplyWidened(m, n, depth, a, a_stride, packed, c, c_stride, add);
  }
  for (std::int64_t column = 0; column < n; column += kPanel) {
    const std::int64_t width = std::min(kPanel, n - column);
    MultiplyBlock(m, width, depth, a, a_stride, packed + column * depth, c + column, c_stride, add);
  }
}

template <typename T>
bool CanMultiply() {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (WidensBfloat16()) return BlockRuns<float>();
  }
  return BlockRuns<T>();
}

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

#define INLIER_INSTANTIATE(T)                                                                           \
  template void Multiply<T>(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, const T*, \
                            Real<T>*, std::int64_t, bool);                                              \
  template void ProductOverRows<T>(std::int64_t, const T*, std::int64_t, std::int64_t, const T*,        \
                                   std::int64_t, std::int64_t, Real<T>*, std::int64_t, bool);           \
  template bool CanMultiply<T>();
INLIER_INSTANTIATE(float)
INLIER_INSTANTIATE(Bf16)
INLIER_INSTANTIATE(double)
#undef INLIER_INSTANTIATE

}  // namespace inlier::layer::cpu
