#include "core/outliers/outlier_metrics.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/nanmedian.h>

#include <cstdint>
#include <limits>
#include <tuple>

#include "base/check.h"

namespace inlier {
namespace {

constexpr double kKurtosisEpsilon = 1e-6;  // Added to the fourth power of the standard deviation.
constexpr double kSigmas = 6.0;
constexpr double kMassive = 100;  // An activation that is massive is larger, …
constexpr double kMassiveOverMedian = 1000;

// (rows, n), in float or double.
at::Tensor AsRows(const at::Tensor& x) {
  INLIER_CHECK(x.dim() >= 1 && x.numel() > 0);
  const at::Tensor rows = x.detach().reshape({x.size(0), -1});
  return rows.scalar_type() == at::kDouble ? rows : rows.to(at::kFloat);
}

// The padding of each element of the rows, (rows, n).
at::Tensor PaddingOfRows(const at::Tensor& padding, const at::Tensor& x, std::int64_t rows) {
  return padding.expand(x.sizes()).reshape({rows, -1});
}

// The number of elements of each row that are not padding, (rows, 1), in the rows' type.
at::Tensor Counted(const at::Tensor& padding_of_rows, const at::Tensor& rows) {
  return padding_of_rows.logical_not().sum(1, /*keepdim=*/true).to(rows.scalar_type());
}

at::Tensor PaddedRowKurtosis(const at::Tensor& x, const at::Tensor& padding) {
  const at::Tensor hidden = PaddingOfRows(padding, x, x.size(0));
  const at::Tensor rows = AsRows(x).masked_fill(hidden, 0);
  const at::Tensor size = Counted(hidden, rows);
  at::Tensor squares = (rows - rows.sum(1, /*keepdim=*/true).div_(size)).masked_fill_(hidden, 0);
  squares.mul_(squares);
  const at::Tensor variance = squares.sum(1).div_((size - 1).squeeze(1));
  const at::Tensor fourth_moment = squares.mul_(squares).sum(1).div_(size.squeeze(1));
  return fourth_moment / (variance * variance + kKurtosisEpsilon);
}

}  // namespace

at::Tensor RowInfNorm(const at::Tensor& x, const at::Tensor& padding) {
  const at::Tensor rows = AsRows(padding.defined() ? x.masked_fill(padding, 0) : x);
  return at::maximum(rows.amax(1), rows.amin(1).neg_());  // Without a copy of the magnitudes.
}

at::Tensor RowKurtosis(const at::Tensor& x, const at::Tensor& padding) {
  if (padding.defined()) return PaddedRowKurtosis(x, padding);
  const at::Tensor rows = AsRows(x);
  const double size = static_cast<double>(rows.size(1));
  INLIER_CHECK(size >= 2);
  at::Tensor squares = rows - rows.mean(1, /*keepdim=*/true);
  squares.mul_(squares);
  const at::Tensor variance = squares.sum(1).div_(size - 1);
  const at::Tensor fourth_moment = squares.mul_(squares).sum(1).div_(size);
  return fourth_moment / (variance * variance + kKurtosisEpsilon);
}

at::Tensor BeyondSixSigma(const at::Tensor& x, SixSigmaScope scope, const at::Tensor& padding) {
  INLIER_CHECK(x.dim() == 3 && x.numel() > 0);
  const at::Tensor values = x.detach().to(at::kDouble);
  const at::Tensor rows = values.reshape({scope == SixSigmaScope::kSequence ? values.size(0) : 1, -1});
  at::Tensor distance, deviation;
  if (padding.defined()) {
    const at::Tensor hidden = PaddingOfRows(padding, x, rows.size(0));
    const at::Tensor size = Counted(hidden, rows);
    const at::Tensor mean = rows.masked_fill(hidden, 0).sum(1, /*keepdim=*/true).div_(size);
    distance = (rows - mean).abs_().masked_fill_(hidden, 0);
    deviation = distance.square().sum(1, /*keepdim=*/true).div_(size).sqrt_();
  } else {
    distance = (rows - rows.mean(1, /*keepdim=*/true)).abs_();
    deviation = distance.square().mean(1, /*keepdim=*/true).sqrt();
  }
  return distance.gt(deviation * kSigmas).reshape(values.sizes());
}

at::Tensor MassiveActivations(const at::Tensor& x, const at::Tensor& padding) {
  INLIER_CHECK(x.dim() == 3 && x.numel() > 0);
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  at::Tensor magnitudes = AsRows(x).abs();
  if (padding.defined()) magnitudes.masked_fill_(PaddingOfRows(padding, x, x.size(0)), kNaN);
  at::Tensor massive = magnitudes.gt(kMassive);
  // Medians cost more than all other metrics, and few models have such elements.
  if (x.is_cpu() && !massive.any().item<bool>()) return massive.view(x.sizes());
  const at::Tensor median = std::get<0>(at::nanmedian(magnitudes, 1, /*keepdim=*/true));
  return massive.logical_and_(magnitudes.gt(median * kMassiveOverMedian)).view(x.sizes());
}

}  // namespace inlier
