#include "core/kernels/pack.h"

#include <algorithm>

#include "core/kernels/transpose.h"

namespace inlier::kernels {
namespace {

template <typename T, typename Source>
INLIER_INLINE T Element(Source x) {
  if constexpr (std::is_same_v<T, Source>) {
    return x;
  } else {
    return ToElement<T>(x);
  }
}

INLIER_INLINE std::uint32_t Pair(Bf16 low, Bf16 high) {
  return std::uint32_t{low.bits} | std::uint32_t{high.bits} << 16;
}

// The words of a panel: one element, or a pair of bfloat16 of consecutive rows.
template <typename T, typename Source>
INLIER_INLINE void PackRowsOf(const Source* source, std::int64_t stride, std::int64_t k, std::int64_t n,
                              T* packed) {
  for (std::int64_t first = 0; first < n; first += kPanel) {
    const std::int64_t width = std::min(kPanel, n - first);
    T* panel = packed + first * PaddedDepth<T>(k);
    if constexpr (std::is_same_v<T, Bf16>) {
      for (std::int64_t i = 0; i < k; i += 2) {
        const Source* low = source + i * stride + first;
        std::uint32_t* out = reinterpret_cast<std::uint32_t*>(panel + i * width);
        if (i + 1 < k) {
          const Source* high = low + stride;
#pragma omp simd
          for (std::int64_t j = 0; j < width; ++j) out[j] = Pair(Element<T>(low[j]), Element<T>(high[j]));
        } else {
          for (std::int64_t j = 0; j < width; ++j) out[j] = Pair(Element<T>(low[j]), Bf16{0});
        }
      }
    } else {
      for (std::int64_t i = 0; i < k; ++i) {
        const Source* row = source + i * stride + first;
#pragma omp simd
        for (std::int64_t j = 0; j < width; ++j) panel[i * width + j] = row[j];
      }
    }
  }
}

// `rows` rows of `width` elements of Source as T, contiguous.
template <typename T, typename Source>
INLIER_INLINE void ConvertRows(const Source* source, std::int64_t stride, std::int64_t rows,
                               std::int64_t width, T* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) out[i * width + j] = Element<T>(source[i * stride + j]);
  }
}

// A panel of bfloat16 (k, width) from rows (width, k): pairs of a row are words.
INLIER_INLINE void PackPairs(const Bf16* rows, std::int64_t stride, std::int64_t k, std::int64_t width,
                             Bf16* panel) {
  TransposeWords(rows, stride * 2, width, k / 2, panel, width * 4);
  if (k % 2 == 0) return;
  std::uint32_t* last = reinterpret_cast<std::uint32_t*>(panel + (k - 1) * width);
  for (std::int64_t j = 0; j < width; ++j) last[j] = Pair(rows[j * stride + k - 1], Bf16{0});
}

template <typename T, typename Source>
INLIER_INLINE void PackColumnsOf(const Source* source, std::int64_t stride, std::int64_t k, std::int64_t n,
                                 T* packed) {
  for (std::int64_t first = 0; first < n; first += kPanel) {
    const std::int64_t width = std::min(kPanel, n - first);
    T* panel = packed + first * PaddedDepth<T>(k);
    const Source* rows = source + first * stride;
    if constexpr (std::is_same_v<T, float>) {
      TransposeWords(rows, stride * 4, width, k, panel, width * 4);
    } else if constexpr (std::is_same_v<Source, Bf16>) {
      PackPairs(rows, stride, k, width, panel);
    } else if constexpr (std::is_same_v<T, Bf16>) {
      Bf16 block[kPanelMax * kPanelMax];
      for (std::int64_t top = 0; top < k; top += kPanelMax) {
        const std::int64_t depth = std::min(kPanelMax, k - top);
        ConvertRows(rows + top, stride, width, depth, block);
        PackPairs(block, depth, depth, width, panel + top * width);
      }
    } else {
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t j = 0; j < width; ++j) panel[i * width + j] = rows[j * stride + i];
      }
    }
  }
}

// Blocks of 64 rows and 64 columns, of bfloat16 one panel: what is read with a stride stays in the nearest cache.
template <typename T>
INLIER_INLINE void TransposeLeftOf(const T* source, std::int64_t stride, std::int64_t k, std::int64_t n,
                                   T* out) {
  constexpr std::int64_t kBlock = 64;
  const std::int64_t depth = PaddedDepth<T>(k), width = std::is_same_v<T, Bf16> ? kPanel : kBlock;
  for (std::int64_t top = 0; top < k; top += kBlock) {
    const std::int64_t rows = std::min(kBlock, k - top);
    for (std::int64_t left = 0; left < n; left += width) {
      const std::int64_t columns = std::min(width, n - left);
      const T* block = source + top * stride + left;
      T* target = out + left * depth + top;
      if constexpr (std::is_same_v<T, Bf16>) {
        std::uint32_t pairs[kBlock / 2 * kPanelMax];
        PackRowsOf(block, stride, rows, columns, reinterpret_cast<Bf16*>(pairs));
        TransposeWords(pairs, columns * 4, (rows + 1) / 2, columns, target, depth * 2);
      } else if constexpr (std::is_same_v<T, float>) {
        TransposeWords(block, stride * 4, rows, columns, target, depth * 4);
      } else {
        for (std::int64_t j = 0; j < columns; ++j) {
#pragma omp simd
          for (std::int64_t i = 0; i < rows; ++i) target[j * depth + i] = block[i * stride + j];
        }
      }
    }
  }
}

}  // namespace

#define INLIER_PACK(T, Source)                                                                         \
  template <>                                                                                          \
  INLIER_KERNEL void PackRows<T, Source>(const Source* source, std::int64_t stride, std::int64_t k,    \
                                         std::int64_t n, T* packed) {                                  \
    PackRowsOf<T>(source, stride, k, n, packed);                                                       \
  }                                                                                                    \
  template <>                                                                                          \
  INLIER_KERNEL void PackColumns<T, Source>(const Source* source, std::int64_t stride, std::int64_t k, \
                                            std::int64_t n, T* packed) {                               \
    PackColumnsOf<T>(source, stride, k, n, packed);                                                    \
  }
#define INLIER_TRANSPOSE(T)                                                                                 \
  template <>                                                                                               \
  INLIER_KERNEL void TransposeLeft<T>(const T* source, std::int64_t stride, std::int64_t k, std::int64_t n, \
                                      T* out) {                                                             \
    TransposeLeftOf<T>(source, stride, k, n, out);                                                          \
  }

INLIER_KERNEL void Widen(const Bf16* source, std::int64_t n, float* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = ToReal(source[i]);
}

INLIER_KERNEL void WidenPanel(const Bf16* panel, std::int64_t rows, std::int64_t width, float* out) {
  const std::uint32_t* pairs = reinterpret_cast<const std::uint32_t*>(panel);
  for (std::int64_t i = 0; i < rows; i += 2, pairs += width, out += 2 * width) {
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) {
      out[j] = std::bit_cast<float>(pairs[j] << 16);
      out[width + j] = std::bit_cast<float>(pairs[j] & 0xffff0000u);
    }
  }
}

INLIER_PACK(float, float)
INLIER_PACK(double, double)
INLIER_PACK(Bf16, Bf16)
INLIER_PACK(Bf16, float)
INLIER_TRANSPOSE(float)
INLIER_TRANSPOSE(double)
INLIER_TRANSPOSE(Bf16)

}  // namespace inlier::kernels
