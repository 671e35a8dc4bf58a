// The random numbers of dropout: Philox 4x32 on 16 counters at once. Inside kernels only.
#ifndef INLIER_CORE_KERNELS_DROPOUT_BLOCK_H_
#define INLIER_CORE_KERNELS_DROPOUT_BLOCK_H_

#include <cmath>
#include <cstdint>

#include "core/kernels/dropout.h"
#include "core/kernels/element.h"

namespace inlier::kernels {

// Four words of 32 bits, each in 64: what their products need, so that vector code moves no lanes.
struct PhiloxCounter {
  std::uint64_t a, b, c, d;
};

template <int rounds>
INLIER_INLINE PhiloxCounter Philox(PhiloxCounter x, std::uint32_t key_low, std::uint32_t key_high) {
  if constexpr (rounds == 0) {
    return x;
  } else {
    const std::uint64_t first = 0xD2511F53ull * x.a, second = 0xCD9E8D57ull * x.c;
    const PhiloxCounter next = {(second >> 32) ^ x.b ^ key_low, second & 0xffffffff,
                                (first >> 32) ^ x.d ^ key_high, first & 0xffffffff};
    return Philox<rounds - 1>(next, key_low + 0x9E3779B9u, key_high + 0xBB67AE85u);
  }
}

// Columns of a block: 16 counters of 8 halves.
inline constexpr std::int64_t kDropoutBlock = 128;

// The factors of columns [128 block, 128 block + 128) of a row. Column 128 block + 16 j + l has half j of counter
// 16 block + l, the low half of a word before its high half.
template <typename R>
INLIER_INLINE void DropoutBlock(const Dropout& dropout, std::uint64_t row, std::int64_t block, R* factors) {
  const std::uint64_t threshold = static_cast<std::uint64_t>(std::lround(dropout.probability * 65536));
  const R scale = static_cast<R>(1 / (1 - threshold / 65536.0));
  const std::uint64_t whole_row = dropout.first_row + row;
  const std::uint64_t row_low = whole_row & 0xffffffff, row_high = whole_row >> 32, site = dropout.site;
  const std::uint64_t first = static_cast<std::uint64_t>(block) * 16;
  const std::uint32_t key_low = static_cast<std::uint32_t>(dropout.seed);
  const std::uint32_t key_high = static_cast<std::uint32_t>(dropout.seed >> 32);
#pragma omp simd
  for (std::uint64_t lane = 0; lane < 16; ++lane) {
    const PhiloxCounter random = Philox<7>({first + lane, row_low, row_high, site}, key_low, key_high);
    factors[lane] = (random.a & 0xffff) < threshold ? R{0} : scale;
    factors[16 + lane] = random.a >> 16 < threshold ? R{0} : scale;
    factors[32 + lane] = (random.b & 0xffff) < threshold ? R{0} : scale;
    factors[48 + lane] = random.b >> 16 < threshold ? R{0} : scale;
    factors[64 + lane] = (random.c & 0xffff) < threshold ? R{0} : scale;
    factors[80 + lane] = random.c >> 16 < threshold ? R{0} : scale;
    factors[96 + lane] = (random.d & 0xffff) < threshold ? R{0} : scale;
    factors[112 + lane] = random.d >> 16 < threshold ? R{0} : scale;
  }
}

}  // namespace inlier::kernels

#endif  // INLIER_CORE_KERNELS_DROPOUT_BLOCK_H_
