// Outliers among the features of one token's hidden state.
//
//   kurtosis(x)    mean (x_j - mean)^4 / (mean (x_j - mean)^2)^2 over the d features, not excess; 0 where x is constant
//   norm_ratio(x)  max |x_j| / ||x||_2; 0 where x is zero
//
// (Kaul et al. 2025.) Of d numbers the kurtosis is at most d - 2 + 1/(d - 1), reached where one
// feature holds everything. It is not the kurtosis of Bondarenko et al. (outlier_metrics.h), which is taken
// over whole sequences. Computed in the tensor's dtype on its device (half and bfloat16: in float) from
// values scaled by their largest, so that neither large nor tiny tokens leave the dtype's range. A token that
// holds NaN or infinity has NaN.
#ifndef INLIER_CORE_OUTLIERS_TOKEN_METRICS_H_
#define INLIER_CORE_OUTLIERS_TOKEN_METRICS_H_

#include <ATen/core/Tensor.h>

namespace inlier {

// (…, d) -> (…). REQUIRES: d >= 1.
at::Tensor TokenKurtosis(const at::Tensor& x);
at::Tensor TokenNormRatio(const at::Tensor& x);

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_TOKEN_METRICS_H_
