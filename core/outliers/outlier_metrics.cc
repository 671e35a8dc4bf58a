#include "core/outliers/outlier_metrics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>

#include <cstdint>

#include "base/check.h"

namespace inlier {
namespace {

constexpr double kKurtosisEpsilon = 1e-6;  // Added to the fourth power of the standard deviation.
constexpr double kSigmas = 6.0;

// (rows, n), in float or double.
at::Tensor AsRows(const at::Tensor& x) {
  INLIER_CHECK(x.dim() >= 1 && x.numel() > 0);
  const at::Tensor rows = x.detach().reshape({x.size(0), -1});
  return rows.scalar_type() == at::kDouble ? rows : rows.to(at::kFloat);
}

}  // namespace

at::Tensor RowInfNorm(const at::Tensor& x) { return AsRows(x).abs().amax(1); }

at::Tensor RowKurtosis(const at::Tensor& x) {
  const at::Tensor rows = AsRows(x);
  const double size = static_cast<double>(rows.size(1));
  INLIER_CHECK(size >= 2);
  at::Tensor squares = rows - rows.mean(1, /*keepdim=*/true);
  squares.mul_(squares);
  const at::Tensor variance = squares.sum(1).div_(size - 1);
  const at::Tensor fourth_moment = squares.mul_(squares).sum(1).div_(size);
  return fourth_moment / (variance * variance + kKurtosisEpsilon);
}

at::Tensor BeyondSixSigma(const at::Tensor& x, SixSigmaScope scope) {
  INLIER_CHECK(x.dim() == 3 && x.numel() > 0);
  const at::Tensor values = x.detach().to(at::kDouble);
  const at::Tensor rows = values.reshape({scope == SixSigmaScope::kSequence ? values.size(0) : 1, -1});
  const at::Tensor distance = (rows - rows.mean(1, /*keepdim=*/true)).abs_();
  const at::Tensor deviation = distance.square().mean(1, /*keepdim=*/true).sqrt();
  return distance.gt(deviation * kSigmas).reshape(values.sizes());
}

SixSigmaCounts CountBeyondSixSigma(const at::Tensor& x, SixSigmaScope scope) {
  const at::Tensor beyond = BeyondSixSigma(x, scope);
  const auto count = [&](std::int64_t other_axis) {
    return beyond.sum(at::IntArrayRef({0, other_axis}), /*keepdim=*/false, at::kLong).to(at::kCPU);
  };
  return {.per_position = count(2), .per_dimension = count(1)};
}

}  // namespace inlier
