// Transposes of matrices of 32-bit words in tiles that stay in registers: reads with a stride, one word after the
// other, took a tenth of a float32 step.
#ifndef INLIER_CORE_KERNELS_TRANSPOSE_H_
#define INLIER_CORE_KERNELS_TRANSPOSE_H_

#include <cstdint>
#include <cstring>

#include "core/kernels/element.h"

#if defined(__clang__)
#define INLIER_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define INLIER_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Words8{__VA_ARGS__})
#endif

namespace inlier::kernels {

using Words8 = std::uint32_t __attribute__((vector_size(32)));

// A tile of 8 x 8 words. Distances between rows in bytes.
INLIER_INLINE void TransposeTile(const char* source, std::int64_t stride, char* out,
                                 std::int64_t out_stride) {
  Words8 row[8], pairs[8], fours[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&row[i], source + i * stride, sizeof(Words8));
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = INLIER_SHUFFLE(row[i], row[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = INLIER_SHUFFLE(row[i], row[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int half = 0; half < 8; half += 4) {
    for (int i = 0; i < 2; ++i) {
      const Words8 first = pairs[half + i], second = pairs[half + i + 2];
      fours[half + 2 * i] = INLIER_SHUFFLE(first, second, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[half + 2 * i + 1] = INLIER_SHUFFLE(first, second, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const Words8 top = INLIER_SHUFFLE(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    const Words8 bottom = INLIER_SHUFFLE(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    std::memcpy(out + i * out_stride, &top, sizeof(Words8));
    std::memcpy(out + (i + 4) * out_stride, &bottom, sizeof(Words8));
  }
}

// out (columns, rows) is the transpose of source (rows, columns), both of words. Distances between rows in bytes.
INLIER_INLINE void TransposeWords(const void* source, std::int64_t stride, std::int64_t rows,
                                  std::int64_t columns, void* out, std::int64_t out_stride) {
  constexpr std::int64_t kWord = sizeof(std::uint32_t);
  const char* const from = static_cast<const char*>(source);
  char* const to = static_cast<char*>(out);
  const std::int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
  for (std::int64_t j = 0; j < whole_columns; j += 8) {
    for (std::int64_t i = 0; i < whole_rows; i += 8)
      TransposeTile(from + i * stride + j * kWord, stride, to + j * out_stride + i * kWord, out_stride);
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i)
      std::memcpy(to + j * out_stride + i * kWord, from + i * stride + j * kWord, kWord);
  }
}

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_TRANSPOSE_H_
