// Counts of the elements beyond six standard deviations, by position and by dimension, as the golden cases have them.
#ifndef INLIER_TESTS_CORE_OUTLIERS_SIX_SIGMA_COUNTS_H_
#define INLIER_TESTS_CORE_OUTLIERS_SIX_SIGMA_COUNTS_H_

#include "core/outliers/outlier_metrics.h"

namespace inlier {

struct SixSigmaCounts {
  at::Tensor per_position;   // (T), int64, on the CPU.
  at::Tensor per_dimension;  // (d), int64, on the CPU.
};

// x: (N, T, d).
inline SixSigmaCounts CountBeyondSixSigma(const at::Tensor& x, SixSigmaScope scope,
                                          const at::Tensor& padding = {}) {
  const at::Tensor beyond = BeyondSixSigma(x, scope, padding);
  const auto count = [&](std::int64_t other_axis) {
    return beyond.sum(at::IntArrayRef({0, other_axis}), /*keepdim=*/false, at::kLong).to(at::kCPU);
  };
  return {.per_position = count(2), .per_dimension = count(1)};
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_OUTLIERS_SIX_SIGMA_COUNTS_H_
