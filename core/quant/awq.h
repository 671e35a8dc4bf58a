// Scales of a linear's input features, and ranges of its weights, before they are rounded.   (Lin et al. 2024, AWQ, section 3.2)
//
//   y = (x / s) Q(W * s)^T     s_j = max(mean|x_j|^a, 1e-4), divided by sqrt(max s min s);   a = 0, 1/grid, …, below 1
//
// It takes the a whose rounded weights change the outputs least, by the second moments H of the input: the sum over all linears
// that read x of tr(E H E^T), E = W - Q(W * s) / s. For a linear that reads its input alone this is the authors' error; of queries,
// keys and values they compare the output of the whole attention, and of gate and up that of the whole network. All tokens of the
// calibration count; for ranges the authors take some 512 of them.
#ifndef INLIER_CORE_QUANT_AWQ_H_
#define INLIER_CORE_QUANT_AWQ_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/quant/gptq.h"

namespace inlier {

struct AwqOptions {
  int grid;   // Values of a; a range is narrowed in steps of 1/grid of it.
  bool clip;  // Narrow the ranges too.
};

// A weight, (out, in), on the grid that is made from it.
using WeightRounding = std::function<at::Tensor(const at::Tensor& weight)>;

// s (in), in the dtype of the weights; the first of equally good ones.
// input: of the tensor that all of `weights`, each (out, in), read.
// InvalidArgument when no s has a finite error. REQUIRES: grid >= 1; a token, a weight; all on one device.
absl::StatusOr<at::Tensor> AwqFactors(const InputMoments& input, const std::vector<at::Tensor>& weights,
                                      int grid, const WeightRounding& round);

// `weight` (out, in), each group of `group_size` entries of a row cut to the range [-m, m] whose rounded numbers change the
// group's share of the output least: m = max|w| (1 - i / grid) for i = 0, 1, … below grid / 2, rounded down, the first of equally good ones.
// moments: H (in, in) of what the weight multiplies. The last group of a row may be smaller.
// round: gives each group a grid of its own. REQUIRES: group_size, grid >= 1; all on one device.
at::Tensor AwqClipped(const at::Tensor& weight, const at::Tensor& moments, std::int64_t group_size, int grid,
                      const WeightRounding& round);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_AWQ_H_
