// The layout of a product's operands for the block kernel: the right side (k, n) in panels of kPanel columns, each
// panel's rows contiguous; for bfloat16 two rows interleaved, (k / 2, columns, 2), an odd last row with zeros.
#ifndef INLIER_CORE_KERNELS_PACK_H_
#define INLIER_CORE_KERNELS_PACK_H_

#include <cstdint>
#include <type_traits>

#include "core/kernels/element.h"

namespace inlier::kernels {

// Columns of a panel. With AVX2 alone the block kernel runs at 0.7 of its rate where there are more than 32.
inline constexpr std::int64_t kPanelMax = 64;
#if defined(__x86_64__)
inline const std::int64_t kPanel = __builtin_cpu_supports("avx512f") ? kPanelMax : 32;
#else
inline constexpr std::int64_t kPanel = kPanelMax;
#endif

// The depth of a packed product: k, for bfloat16 rounded up to an even number. A left side of odd k needs a zero
// (not any number: the right side's padding is 0, and 0 * inf is not) in the column after its last.
template <typename T>
constexpr std::int64_t PaddedDepth(std::int64_t k) {
  return std::is_same_v<T, Bf16> ? (k + 1) / 2 * 2 : k;
}

// Elements of a packed right side of (k, n).
template <typename T>
constexpr std::int64_t PackedSize(std::int64_t k, std::int64_t n) {
  return PaddedDepth<T>(k) * n;
}

// Packs B (k, n), of which element (i, j) is source[i * stride + j]. Source: T or Real<T>.
template <typename T, typename Source>
void PackRows(const Source* source, std::int64_t stride, std::int64_t k, std::int64_t n, T* packed);
// The same of source[j * stride + i]: the transpose of a row-major (n, k).
template <typename T, typename Source>
void PackColumns(const Source* source, std::int64_t stride, std::int64_t k, std::int64_t n, T* packed);

// out[j * PaddedDepth(k) + i] = source[i * stride + j], i < k, j < n: a left side from a matrix (k, n) stored the
// other way round.
template <typename T>
void TransposeLeft(const T* source, std::int64_t stride, std::int64_t k, std::int64_t n, T* out);

// The same numbers as float: n of them, and `rows` rows of a panel of `width` columns as (rows, width). REQUIRES: rows is even.
void Widen(const Bf16* source, std::int64_t n, float* out);
void WidenPanel(const Bf16* panel, std::int64_t rows, std::int64_t width, float* out);

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_PACK_H_
