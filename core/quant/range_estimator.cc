#include "core/quant/range_estimator.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "core/nn/precision.h"
#include "core/quant/bounded_search.h"

namespace inlier {
namespace {

constexpr int kCandidates = 100;
constexpr double kMargin = 0.5;  // Of the widest range beyond the first batch's extremes.

at::Tensor Rows(const at::Tensor& x) { return x.dim() == 0 ? x.reshape({1, 1}) : x.reshape({x.size(0), -1}); }

double AsFloat(double value) { return static_cast<double>(static_cast<float>(value)); }

template <typename Real>
double Blend(double momentum, double old_value, double new_value) {
  return static_cast<Real>(1.0 - momentum) * static_cast<Real>(new_value) +
         static_cast<Real>(momentum) * static_cast<Real>(old_value);
}

// MinMax, Percentile and RunningMinMax.
class EndsEstimator : public RangeEstimator {
 public:
  explicit EndsEstimator(const QuantizerOptions& options) : options_(options) {}

  ValueRange Update(const at::Tensor& batch) override {
    const double percentile = options_.percentile.value_or(100);
    const ValueRange seen = options_.percentile
                                ? PercentileRange(batch, 100.0 - percentile, percentile, options_.per_channel)
                                : MinMaxRange(batch, options_.per_channel);
    if (options_.method != RangeMethod::kRunningMinMax) return seen;
    if (range_.minimum.empty()) return range_ = seen;
    const auto blend = seen.single_precision ? &Blend<float> : &Blend<double>;
    range_.minimum[0] = blend(options_.momentum, range_.minimum[0], seen.minimum[0]);
    range_.maximum[0] = blend(options_.momentum, range_.maximum[0], seen.maximum[0]);
    return range_;
  }

 private:
  const QuantizerOptions options_;
  ValueRange range_;
};

// The elements of rank `below` and below + 1 (from 0, in rising order) of each row, as (rows, 2). At the end
// both are the last rank.
at::Tensor TwoOrderStatistics(const at::Tensor& rows, std::int64_t below) {
  const std::int64_t size = rows.size(1);
  const std::int64_t above = std::min(below + 1, size - 1);
  // The nearer end is sorted as far as needed.
  const bool from_top = size - below < above + 1;
  const std::int64_t count = from_top ? size - below : above + 1;
  const at::Tensor sorted = std::get<0>(rows.topk(count, 1, /*largest=*/from_top, /*sorted=*/true));
  const auto pick = [&](std::int64_t rank) { return sorted.select(1, from_top ? size - 1 - rank : rank); };
  return at::stack({pick(below), pick(above)}, 1);
}

std::vector<double> Percentiles(const at::Tensor& rows, double percent) {
  const double position = percent / 100.0 * static_cast<double>(rows.size(1) - 1);
  const double below = std::floor(position);
  const double fraction = position - below;
  const at::Tensor ends = TwoOrderStatistics(rows, static_cast<std::int64_t>(below));
  // The distance is taken in the tensor's own precision, everything else in double.
  const std::vector<double> distance = ToDoubles(ends.select(1, 1) - ends.select(1, 0));
  std::vector<double> values = ToDoubles(ends.select(1, fraction < 0.5 ? 0 : 1));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] += fraction < 0.5 ? distance[i] * fraction : -distance[i] * (1.0 - fraction);
  }
  return values;
}

SearchBounds BoundsOf(const at::Tensor& batch, bool symmetric) {
  const ValueRange extremes = MinMaxRange(batch, false);
  const double minimum = extremes.minimum[0], maximum = extremes.maximum[0];
  SearchBounds bounds = {
      .one_sided = minimum >= 0, .low = minimum - kMargin, .high = maximum + kMargin, .reach = 0};
  bounds.reach = symmetric || bounds.one_sided ? std::max(std::abs(minimum), maximum) + kMargin
                                               : std::max(std::abs(bounds.low), std::abs(bounds.high));
  return bounds;
}

}  // namespace

std::unique_ptr<RangeEstimator> MakeRangeEstimator(const QuantizerOptions& options) {
  INLIER_CHECK(!options.per_channel || options.method == RangeMethod::kMinMax ||
               options.method == RangeMethod::kPercentile ||
               (options.method == RangeMethod::kMseGrid && options.symmetric));
  INLIER_CHECK(options.method != RangeMethod::kPercentile || options.percentile.has_value());
  switch (options.method) {
    case RangeMethod::kMinMax:
    case RangeMethod::kPercentile:
    case RangeMethod::kRunningMinMax:
      return std::make_unique<EndsEstimator>(options);
    case RangeMethod::kMseGrid:
      return std::make_unique<MseGridEstimator>(options.bits, options.symmetric, options.per_channel);
    case RangeMethod::kMseSearch:
      return std::make_unique<MseSearchEstimator>(options.bits, options.symmetric);
  }
  INLIER_CHECK(false);
}

ValueRange MinMaxRange(const at::Tensor& x, bool per_channel) {
  const at::Tensor rows = per_channel ? Rows(x) : x.reshape({1, -1});
  const auto [minimum, maximum] = at::aminmax(rows, 1);
  const std::vector<double> ends = ToDoubles(at::stack({minimum, maximum}));  // One copy from the device.
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  return {{ends.begin(), middle}, {middle, ends.end()}, x.scalar_type() != at::kDouble};
}

ValueRange PercentileRange(const at::Tensor& x, double low, double high, bool per_channel) {
  const at::Tensor rows = AtLeastFloat32(per_channel ? Rows(x) : x.reshape({1, -1}));
  return {Percentiles(rows, low), Percentiles(rows, high), false};
}

std::vector<double> RoundingError(const at::Tensor& x, const ValueRange& range, int bits, bool symmetric,
                                  bool per_slice) {
  Quantizer quantizer(bits, symmetric);
  quantizer.SetRange(range);
  at::Tensor error = quantizer.Apply(x).sub_(x);
  error.mul_(error);
  const at::Tensor sums = Rows(error).sum(1);
  return ToDoubles(per_slice ? sums : sums.sum(0));
}

MseGridEstimator::MseGridEstimator(int bits, bool symmetric, bool per_channel)
    : bits_(bits), symmetric_(symmetric), per_channel_(per_channel) {
  INLIER_CHECK(!per_channel || symmetric);
}

ValueRange MseGridEstimator::Update(const at::Tensor& batch) {
  const at::Tensor values = AtLeastFloat32(batch);
  if (losses_.empty()) bounds_ = BoundsOf(values, symmetric_);
  return symmetric_ || bounds_.one_sided ? SearchThreshold(values) : SearchWidthAndShift(values);
}

ValueRange MseGridEstimator::SearchThreshold(const at::Tensor& batch) {
  const std::size_t channels = per_channel_ ? static_cast<std::size_t>(batch.size(0)) : 1;
  if (losses_.empty()) losses_.assign(kCandidates, std::vector<double>(channels, 0.0));
  const auto threshold = [&](int index) { return AsFloat(index * (bounds_.reach / kCandidates)); };

  chosen_index_.assign(channels, 1);
  chosen_loss_.assign(channels, std::numeric_limits<double>::infinity());
  for (int index = 1; index <= kCandidates; ++index) {
    const ValueRange range = {{bounds_.one_sided ? 0.0 : -threshold(index)}, {threshold(index)}, true};
    const std::vector<double> errors = RoundingError(batch, range, bits_, symmetric_, per_channel_);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      double& loss = losses_[index - 1][channel];
      loss += errors[channel];
      if (loss < chosen_loss_[channel]) {
        chosen_loss_[channel] = loss;
        chosen_index_[channel] = index;
      }
    }
  }
  ValueRange range;
  range.single_precision = true;
  for (int index : chosen_index_) {
    range.minimum.push_back(bounds_.one_sided ? 0.0 : -threshold(index));
    range.maximum.push_back(threshold(index));
  }
  return range;
}

ValueRange MseGridEstimator::SearchWidthAndShift(const at::Tensor& batch) {
  const int levels = (1 << bits_) - 1;
  const int shifts = (1 << bits_) / 4;
  if (losses_.empty()) losses_.assign(kCandidates * shifts * 2, std::vector<double>(1, 0.0));

  ValueRange best;
  chosen_index_ = {1};
  chosen_loss_ = {std::numeric_limits<double>::infinity()};
  std::size_t candidate = 0;
  for (int index = 1; index <= kCandidates; ++index) {
    const double half_width = index * (bounds_.reach / kCandidates);
    for (int k = 0; k < shifts; ++k) {
      for (const int sign : {1, -1}) {
        double& loss = losses_[candidate++][0];
        if (k == 0 && sign < 0) continue;  // The same range again.
        const double shift = sign * k * (2.0 * half_width / levels);
        const ValueRange range = {
            {std::max(shift - half_width, bounds_.low)}, {std::min(shift + half_width, bounds_.high)}, false};
        const ValueRange rounded = {{AsFloat(range.minimum[0])}, {AsFloat(range.maximum[0])}, true};
        loss += RoundingError(batch, rounded, bits_, symmetric_, false)[0];
        if (loss < chosen_loss_[0]) {
          chosen_loss_ = {loss};
          chosen_index_ = {index};
          best = range;
        }
      }
    }
  }
  // Nothing is below infinity when the batch holds NaN.
  return best.minimum.empty() ? MinMaxRange(batch, false) : best;
}

double MseSearchEstimator::Loss(const at::Tensor& batch, double low, double high) const {
  return RoundingError(batch, {{AsFloat(low)}, {AsFloat(high)}, true}, bits_, symmetric_, false)[0];
}

ValueRange MseSearchEstimator::Update(const at::Tensor& raw) {
  const at::Tensor batch = AtLeastFloat32(raw);
  if (!bounds_) bounds_ = BoundsOf(batch, symmetric_);
  const bool one_sided = bounds_->one_sided;
  const double reach = bounds_->reach;
  const double nearest = 0.01 * reach;
  if (symmetric_ || one_sided) {
    const auto lowest = [one_sided](double threshold) { return one_sided ? 0.0 : -threshold; };
    const auto loss = [&](double threshold) { return Loss(batch, lowest(threshold), threshold); };
    const double threshold = MinimizeBounded(loss, nearest, reach).at;
    return {{lowest(threshold)}, {threshold}, false};
  }
  const auto best_shift = [&](double half_width) {
    const double limit = ((1 << bits_) / 4) * (2.0 * half_width / ((1 << bits_) - 1));
    const auto loss = [&](double shift) { return Loss(batch, shift - half_width, shift + half_width); };
    return MinimizeBounded(loss, -limit, limit);
  };
  const auto loss_of_width = [&](double half_width) { return best_shift(half_width).value; };
  const double half_width = MinimizeBounded(loss_of_width, nearest, reach).at;
  const double shift = best_shift(half_width).at;
  return {{shift - half_width}, {shift + half_width}, false};
}

}  // namespace inlier
