// Outliers among single elements of a tensor: infinity norm and kurtosis of rows, counts beyond six standard
// deviations, and massive activations.
//
// A row is one entry of the first axis with everything else flattened, n elements. As the reference code
// (Bondarenko et al. 2023):
//
//   inf(x)  = max |x_j|
//   kurt(x) = (1/n) sum (x_j - mean)^4 / (s^4 + 1e-6),   s^2 = sum (x_j - mean)^2 / (n - 1)
//             (about 3 for a normal distribution)
//
// Everything is computed in the tensor's dtype on its device (half and bfloat16: in float), in two passes, so
// that a large mean does not cancel the digits that matter.
//
// `padding` broadcasts to x; its true elements count nowhere, and n is the number of the others. Undefined: all count.
#ifndef INLIER_CORE_OUTLIERS_OUTLIER_METRICS_H_
#define INLIER_CORE_OUTLIERS_OUTLIER_METRICS_H_

#include <ATen/core/Tensor.h>

namespace inlier {

// (rows, …) -> (rows): the infinity norm of each row; 0 for a row of padding.
// REQUIRES: at least one element a row.
at::Tensor RowInfNorm(const at::Tensor& x, const at::Tensor& padding = {});

// (rows, …) -> (rows): the kurtosis of each row; NaN for a row of padding.
// REQUIRES: at least two elements a row.
at::Tensor RowKurtosis(const at::Tensor& x, const at::Tensor& padding = {});

// The scope of mean and standard deviation.
enum class SixSigmaScope {
  kSequence,     // Each (T, d) slice by itself.
  kWholeTensor,  // The whole (N, T, d) tensor.
};

// x: (N, T, d) -> (N, T, d) bool, on x's device: elements with |x - mean| > 6 * standard deviation (strictly, population
// standard deviation). Compared in double, so that elements near the threshold do not depend on the order of a sum.
at::Tensor BeyondSixSigma(const at::Tensor& x, SixSigmaScope scope, const at::Tensor& padding = {});

// x: (N, T, d) -> (N, T, d) bool, on x's device: |x| > 100 and |x| > 1000 times the median of the |x| of its sequence
// (of an even number the lower middle one).   (Sun et al. 2024, section 2)
at::Tensor MassiveActivations(const at::Tensor& x, const at::Tensor& padding = {});

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_OUTLIER_METRICS_H_
