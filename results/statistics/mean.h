// Mean and variance of a few numbers, summed in their order: tables and figures agree to the last digit.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_STATISTICS_MEAN_H_
#define INLIER_RESULTS_STATISTICS_MEAN_H_

#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

namespace inlier {

// REQUIRES: there is a value.
inline double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// With n - 1. REQUIRES: there are two values.
inline double SampleVariance(const std::vector<double>& values) {
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

// Its root; nullopt for less than two values.
inline std::optional<double> SampleDeviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  return std::sqrt(SampleVariance(values));
}

}  // namespace inlier

#endif  // INLIER_RESULTS_STATISTICS_MEAN_H_
