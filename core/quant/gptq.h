// Rounding of a linear's weight with error correction.   (Frantar et al. 2023, GPTQ, algorithm 1)
//
// Input channels are rounded one after another. After each, the channels that follow are moved so that the output of
// the linear changes least: Q has a small loss tr((W - Q) H (W - Q)^T), where H are the second moments of the input.
#ifndef INLIER_CORE_QUANT_GPTQ_H_
#define INLIER_CORE_QUANT_GPTQ_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace inlier {

// Moments of a linear's input over real tokens, in double: H = 2/n sum x x^T, and the mean of |x|.
class InputMoments {
 public:
  // x: (…, in). token_mask: (B, T), 1 = a real token; undefined where none is padding. Tokens of x (B, T, in) or
  // (B * T, in) that are padding are left out; other rows, such as the first token of each sequence, all count.
  // REQUIRES: the same `in` at each call. On a GPU a mask makes the call wait for the device.
  void Add(const at::Tensor& x, const at::Tensor& token_mask);

  const at::Tensor& matrix() const { return matrix_; }  // (in, in), double; undefined before the first token.
  const at::Tensor& mean_magnitude() const { return mean_magnitude_; }  // (in), the same.
  std::int64_t count() const { return count_; }                         // n, tokens.

 private:
  at::Tensor matrix_;
  at::Tensor mean_magnitude_;
  std::int64_t count_ = 0;
};

struct GptqOptions {
  double damping;  // Added to the diagonal of H, as a share of its mean.
  bool by_size;    // Take the channels in order of falling H_jj, equal ones in their own order (act_order).
};

// Groups of `size` channels with grids that are made when each is reached; 0: grids are fixed before, from W.
struct GptqGroups {
  std::int64_t size = 0;
  // The weights of the channels `first`, first + 1, …, (out, size) double, corrected for the errors of all before them.
  std::function<void(const at::Tensor& weights, std::int64_t first)> begin = nullptr;
};

// W (out, in) rounded, in its dtype; computed in double.
// moments: H (in, in). A channel without input (H_jj = 0) has H_jj = 1 and weight 0 before it is rounded.
// round(column, index): `column` (out, double) on the grid of each row for input channel `index`.
// InvalidArgument when the damped H is not positive definite, or not finite.
// REQUIRES: weight and moments are on one device; groups without by_size.
absl::StatusOr<at::Tensor> GptqRound(
    const at::Tensor& weight, const at::Tensor& moments, const GptqOptions& options,
    const std::function<at::Tensor(const at::Tensor& column, std::int64_t index)>& round,
    const GptqGroups& groups = {});

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_GPTQ_H_
