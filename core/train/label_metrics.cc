#include "core/train/label_metrics.h"

#include <ATen/Functions.h>

#include <cmath>
#include <limits>

#include "base/check.h"

namespace inlier {
namespace {

// (classes, classes) double, rows = truth, columns = prediction.
at::Tensor ConfusionMatrix(const at::Tensor& predicted, const at::Tensor& truth, std::int64_t classes) {
  INLIER_CHECK(predicted.numel() == truth.numel());
  const at::Tensor cells = truth.to(at::kCPU).mul(classes).add(predicted.to(at::kCPU));
  return at::bincount(cells, {}, classes * classes).view({classes, classes}).to(at::kDouble);
}

// Ranks from 1, equal values the mean of theirs. (N) -> (N) double.
at::Tensor Ranks(const at::Tensor& values) {
  const auto [unique, index, counts] = at::unique_dim(values.contiguous(), 0, /*sorted=*/true,
                                                      /*return_inverse=*/true, /*return_counts=*/true);
  const at::Tensor last = counts.cumsum(0).to(at::kDouble);  // The largest rank of each value.
  const at::Tensor mean = last - (counts.to(at::kDouble) - 1) / 2;
  return mean.index_select(0, index);
}

}  // namespace

double F1(const at::Tensor& predicted, const at::Tensor& truth, std::int64_t classes) {
  const at::Tensor confusion = ConfusionMatrix(predicted, truth, classes);
  const at::Tensor hits = confusion.diagonal();
  const at::Tensor seen = confusion.sum(0) + confusion.sum(1);  // 2 tp + fp + fn
  const at::Tensor scores = at::where(seen.gt(0), 2 * hits / seen.clamp_min(1), 0);
  if (classes == 2) return scores[1].item<double>();
  return scores.sum().item<double>() / seen.gt(0).sum().item<double>();
}

double MatthewsCorrelation(const at::Tensor& predicted, const at::Tensor& truth, std::int64_t classes) {
  const at::Tensor confusion = ConfusionMatrix(predicted, truth, classes);
  const double all = confusion.sum().item<double>();
  const double correct = confusion.diagonal().sum().item<double>();
  const at::Tensor predictions = confusion.sum(0), truths = confusion.sum(1);
  const double agreement = correct * all - predictions.dot(truths).item<double>();
  const double spread = (all * all - predictions.dot(predictions).item<double>()) *
                        (all * all - truths.dot(truths).item<double>());
  return spread > 0 ? agreement / std::sqrt(spread) : 0;
}

double PearsonCorrelation(const at::Tensor& predicted, const at::Tensor& truth) {
  INLIER_CHECK(predicted.numel() == truth.numel());
  if (predicted.numel() < 2) return std::numeric_limits<double>::quiet_NaN();
  const at::Tensor x = predicted.to(at::kCPU, at::kDouble), y = truth.to(at::kCPU, at::kDouble);
  const at::Tensor dx = x - x.mean(), dy = y - y.mean();
  const double spread = std::sqrt(dx.dot(dx).item<double>() * dy.dot(dy).item<double>());
  return spread > 0 ? dx.dot(dy).item<double>() / spread : std::numeric_limits<double>::quiet_NaN();
}

double SpearmanCorrelation(const at::Tensor& predicted, const at::Tensor& truth) {
  if (predicted.numel() < 2) return std::numeric_limits<double>::quiet_NaN();
  return PearsonCorrelation(Ranks(predicted.to(at::kCPU)), Ranks(truth.to(at::kCPU)));
}

}  // namespace inlier
