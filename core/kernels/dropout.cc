#include "core/kernels/dropout.h"

#include <algorithm>

#include "core/kernels/dropout_block.h"

namespace inlier::kernels {
namespace {

template <typename R>
INLIER_INLINE void DropoutFactorsOf(const Dropout& dropout, std::uint64_t row, std::int64_t columns,
                                    R* factors) {
  const std::int64_t whole = columns / kDropoutBlock;
  for (std::int64_t block = 0; block < whole; ++block) {
    DropoutBlock(dropout, row, block, factors + block * kDropoutBlock);
  }
  if (whole * kDropoutBlock == columns) return;
  R last[kDropoutBlock];
  DropoutBlock(dropout, row, whole, last);
  std::copy(last, last + (columns - whole * kDropoutBlock), factors + whole * kDropoutBlock);
}

}  // namespace

template <>
INLIER_KERNEL void DropoutFactors<float>(const Dropout& dropout, std::uint64_t row, std::int64_t columns,
                                         float* factors) {
  DropoutFactorsOf(dropout, row, columns, factors);
}
template <>
INLIER_KERNEL void DropoutFactors<double>(const Dropout& dropout, std::uint64_t row, std::int64_t columns,
                                          double* factors) {
  DropoutFactorsOf(dropout, row, columns, factors);
}

}  // namespace inlier::kernels
