// Finds the range of a quantizer from the tensors that it rounds. Every estimator gets batch after batch and
// returns after each the range that is valid from now on.
//
//   MinMax          ends of the batch just seen
//   Percentile      the percentiles 100 - p and p over all elements of the batch just seen (linear between
//                   order statistics, in double, as numpy's)
//   RunningMinMax   r = momentum * r + (1 - momentum) * batch, starting with the first batch; with a
//                   percentile p the batch's ends are its percentiles 100 - p and p
//   MseGrid         the candidate of least squared rounding error among 100 thresholds; errors add up over
//                   the batches
//   MseSearch       the minimum of the same error found by a bounded Brent search; each batch is searched
//                   alone, the last one decides
//
// Thresholds of the two searches are rounded to float before the grid is formed, in double runs too, as in
// the reference. Cost: MseGrid 100 rounding passes a batch (asymmetric and two-sided: 100 * (2^bits / 4) * 2 of them).
#ifndef INLIER_CORE_QUANT_RANGE_ESTIMATOR_H_
#define INLIER_CORE_QUANT_RANGE_ESTIMATOR_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "core/quant/quantizer.h"

namespace inlier {

enum class RangeMethod { kMinMax, kPercentile, kRunningMinMax, kMseGrid, kMseSearch };

// How one quantizer rounds and finds its range.
struct QuantizerOptions {
  int bits;
  bool symmetric;
  // One range for each slice of the first axis. kMinMax, kPercentile, symmetric kMseGrid.
  bool per_channel = false;
  RangeMethod method;
  double momentum = 0;  // kRunningMinMax only.
  // Of kPercentile, which needs it, and kRunningMinMax: above 50, at most 100.
  std::optional<double> percentile = {};
};

class RangeEstimator {
 public:
  virtual ~RangeEstimator() = default;

  // Adds one batch and returns the range that is valid from now on.
  // REQUIRES: `batch` has elements.
  virtual ValueRange Update(const at::Tensor& batch) = 0;
};

// REQUIRES: the options agree with their comments.
std::unique_ptr<RangeEstimator> MakeRangeEstimator(const QuantizerOptions& options);

// The smallest and the largest element of the tensor, or of each slice of its first axis.
ValueRange MinMaxRange(const at::Tensor& x, bool per_channel);

// The percentiles `low` and `high` (0 to 100) over all elements, or over each slice of the first axis; always double.
ValueRange PercentileRange(const at::Tensor& x, double low, double high, bool per_channel);

// Values that the first batch fixes for a search.
struct SearchBounds {
  bool one_sided = false;
  double low = 0, high = 0;  // The widest range.
  double reach = 0;          // The largest half-width.
};

// 100 candidates of a range; see MseGrid above. The choice is also reported, for tests and reports.
class MseGridEstimator : public RangeEstimator {
 public:
  MseGridEstimator(int bits, bool symmetric, bool per_channel);

  ValueRange Update(const at::Tensor& batch) override;

  // Index 1 .. 100 of the chosen threshold (or half-width), one a channel, and its summed error. After an Update.
  const std::vector<int>& chosen_index() const { return chosen_index_; }
  const std::vector<double>& loss() const { return chosen_loss_; }

 private:
  ValueRange SearchThreshold(const at::Tensor& batch);
  ValueRange SearchWidthAndShift(const at::Tensor& batch);

  const int bits_;
  const bool symmetric_;
  const bool per_channel_;
  SearchBounds bounds_;
  std::vector<std::vector<double>> losses_;  // By candidate, then channel; empty before the first batch.
  std::vector<int> chosen_index_;
  std::vector<double> chosen_loss_;
};

// A continuous search; see MseSearch above.
class MseSearchEstimator : public RangeEstimator {
 public:
  MseSearchEstimator(int bits, bool symmetric) : bits_(bits), symmetric_(symmetric) {}

  ValueRange Update(const at::Tensor& batch) override;

 private:
  double Loss(const at::Tensor& batch, double low, double high) const;

  const int bits_;
  const bool symmetric_;
  std::optional<SearchBounds> bounds_;
};

// Sum of squared rounding errors of `x` on the grid of `range`: one value, or one for each slice of the first
// axis. Summed in x's dtype over all axes but the first, then over the first.
std::vector<double> RoundingError(const at::Tensor& x, const ValueRange& range, int bits, bool symmetric,
                                  bool per_slice);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_RANGE_ESTIMATOR_H_
