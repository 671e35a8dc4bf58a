#include "core/kernels/pack.h"

#include <algorithm>
#include <cstring>

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
        std::copy(row, row + width, panel + i * width);
      }
    }
  }
}

template <typename T, typename Source>
INLIER_INLINE void PackColumnsOf(const Source* source, std::int64_t stride, std::int64_t k, std::int64_t n,
                                 T* packed) {
  for (std::int64_t first = 0; first < n; first += kPanel) {
    const std::int64_t width = std::min(kPanel, n - first);
    T* panel = packed + first * PaddedDepth<T>(k);
    const Source* rows = source + first * stride;
    if constexpr (std::is_same_v<T, Bf16>) {
      for (std::int64_t i = 0; i < k; i += 2) {
        std::uint32_t* out = reinterpret_cast<std::uint32_t*>(panel + i * width);
        if (i + 1 < k) {
#pragma omp simd
          for (std::int64_t j = 0; j < width; ++j) {
            if constexpr (std::is_same_v<Source, Bf16>) {
              // Both of a pair in one read.
              std::uint32_t word;
              std::memcpy(&word, rows + j * stride + i, sizeof(word));
              out[j] = word;
            } else {
              out[j] = Pair(Element<T>(rows[j * stride + i]), Element<T>(rows[j * stride + i + 1]));
            }
          }
        } else {
          for (std::int64_t j = 0; j < width; ++j) out[j] = Pair(Element<T>(rows[j * stride + i]), Bf16{0});
        }
      }
    } else {
      for (std::int64_t i = 0; i < k; ++i) {
        T* out = panel + i * width;
#pragma omp simd
        for (std::int64_t j = 0; j < width; ++j) out[j] = rows[j * stride + i];
      }
    }
  }
}

// Blocks of 64 rows and 64 columns: what is read with a stride stays in the nearest cache.
template <typename T>
INLIER_INLINE void TransposeLeftOf(const T* source, std::int64_t stride, std::int64_t k, std::int64_t n,
                                   T* out) {
  constexpr std::int64_t kBlock = 64;
  const std::int64_t depth = PaddedDepth<T>(k);
  for (std::int64_t top = 0; top < k; top += kBlock) {
    const std::int64_t rows = std::min(kBlock, k - top);
    for (std::int64_t left = 0; left < n; left += kBlock) {
      const std::int64_t columns = std::min(kBlock, n - left);
      const T* block = source + top * stride + left;
      T* target = out + left * depth + top;
      if constexpr (std::is_same_v<T, Bf16>) {
        std::uint32_t pairs[kBlock / 2 * kBlock];
        PackRowsOf(block, stride, rows, columns, reinterpret_cast<Bf16*>(pairs));
        for (std::int64_t j = 0; j < columns; ++j) {
          std::uint32_t* words = reinterpret_cast<std::uint32_t*>(target + j * depth);
#pragma omp simd
          for (std::int64_t i = 0; i < (rows + 1) / 2; ++i) words[i] = pairs[i * columns + j];
        }
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

INLIER_PACK(float, float)
INLIER_PACK(double, double)
INLIER_PACK(Bf16, Bf16)
INLIER_PACK(Bf16, float)
INLIER_TRANSPOSE(float)
INLIER_TRANSPOSE(double)
INLIER_TRANSPOSE(Bf16)

}  // namespace inlier::kernels
