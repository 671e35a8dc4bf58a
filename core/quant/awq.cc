#include "core/quant/awq.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <limits>

#include "base/check.h"
#include "core/nn/precision.h"
#include "core/quant/slice_grid.h"

namespace inlier {
namespace {

constexpr double kSmallestFactor = 1e-4;

// mean|x_j|^exponent, bounded and normalised; (in), double.
at::Tensor FactorsOf(const at::Tensor& mean_magnitude, double exponent) {
  const at::Tensor powers = mean_magnitude.pow(exponent).clamp_min_(kSmallestFactor);
  return powers / (powers.amax() * powers.amin()).sqrt();
}

// x (…, in), its last axis filled up with zeros to whole groups.
at::Tensor FilledUp(const at::Tensor& x, std::int64_t group_size) {
  return at::constant_pad_nd(x, {0, (group_size - x.size(-1) % group_size) % group_size});
}

// The blocks (groups, size, size) of H (in, in) on its diagonal.
at::Tensor BlocksOf(const at::Tensor& moments, std::int64_t group_size) {
  const at::Tensor whole = FilledUp(FilledUp(moments, group_size).t(), group_size);
  const std::int64_t groups = whole.size(0) / group_size;
  return whole.reshape({groups, group_size, groups, group_size}).diagonal(0, 0, 2).permute({2, 0, 1});
}

}  // namespace

absl::StatusOr<at::Tensor> AwqFactors(const InputMoments& input, const std::vector<at::Tensor>& weights,
                                      int grid, const WeightRounding& round) {
  INLIER_CHECK(input.matrix().defined() && !weights.empty() && grid >= 1);
  const c10::NoGradGuard no_grad;
  const at::Tensor moments = input.matrix().to(AtLeastFloat32(weights[0]).scalar_type());
  double least = std::numeric_limits<double>::infinity();
  at::Tensor best;
  for (int i = 0; i < grid; ++i) {
    const at::Tensor factors =
        FactorsOf(input.mean_magnitude(), static_cast<double>(i) / grid).to(weights[0].scalar_type());
    double error = 0;
    for (const at::Tensor& weight : weights) {
      const at::Tensor change =
          AtLeastFloat32(weight) - AtLeastFloat32(round(weight.mul(factors))).div(factors);
      error += change.matmul(moments).mul_(change).sum().item<double>();
    }
    if (!(error < least)) continue;
    least = error;
    best = factors;
  }
  if (best.defined()) return best;
  return absl::InvalidArgumentError(
      "quantization.awq: no scales of a linear's input change its outputs by a finite error, because a "
      "weight or an activation of the calibration batches is not finite: check the model, or leave awq out");
}

at::Tensor AwqClipped(const at::Tensor& weight, const at::Tensor& moments, std::int64_t group_size, int grid,
                      const WeightRounding& round) {
  INLIER_CHECK(weight.dim() == 2 && group_size >= 1 && grid >= 1);
  const c10::NoGradGuard no_grad;
  const at::Tensor whole = GroupMaxima(weight, group_size);  // (out, groups)
  const auto cut = [&](const at::Tensor& limits) {
    const at::Tensor of_entries = limits.repeat_interleave(group_size, -1).slice(-1, 0, weight.size(1));
    return weight.clamp(of_entries.neg(), of_entries);
  };
  const at::Tensor blocks = BlocksOf(moments.to(AtLeastFloat32(weight).scalar_type()), group_size);
  at::Tensor best = whole;
  at::Tensor least = at::full_like(AtLeastFloat32(whole), std::numeric_limits<double>::infinity());
  for (int i = 0; i < grid / 2; ++i) {
    const at::Tensor limits = whole.mul(1 - static_cast<double>(i) / grid);
    const at::Tensor change =
        FilledUp(AtLeastFloat32(weight) - AtLeastFloat32(round(cut(limits))), group_size)
            .unflatten(1, {-1, group_size})
            .transpose(0, 1);  // (groups, out, size)
    const at::Tensor error = change.matmul(blocks).mul_(change).sum(-1).t();
    const at::Tensor better = error.lt(least);
    best = at::where(better, limits, best);
    least = at::where(better, error, least);
  }
  return cut(best);
}

}  // namespace inlier
