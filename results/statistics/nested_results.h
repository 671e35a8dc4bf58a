// Repeated results in two levels: trainings (seeds), and evaluations of each (calibrations of one trained model).
//
// A calibration repeats the quantization and not the training: each training counts with the mean over its evaluations,
// and mean and deviation are over trainings.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_STATISTICS_NESTED_RESULTS_H_
#define INLIER_RESULTS_STATISTICS_NESTED_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inlier {

struct NestedSummary {
  std::vector<double> values;   // All results, in their order.
  std::vector<double> means;    // One a training, in the order of the trainings' first results.
  std::size_t evaluations = 0;  // Most results of one training.
  // Deviations are absent with less than two values, and where they are not finite.
  std::optional<double> std;  // Of `means`, with n - 1.
  std::optional<double>
      within_std;  // sqrt(sum of squares around the means of trainings / sum of (results - 1)).
  std::optional<double> pooled_std;  // Of `values`, with n - 1.
};

// `results` are pairs of a training and a result. Each result without a training ("") has one of its own.
NestedSummary SummariseNested(const std::vector<std::pair<std::string, double>>& results);

// The numbers that a figure draws; NaN where there are too few values.
struct Summary {
  std::uint32_t n = 0;            // Trainings.
  std::uint32_t evaluations = 1;  // Most of one training, which counts with the mean over them.
  double mean = std::numeric_limits<double>::quiet_NaN();
  double std = std::numeric_limits<double>::quiet_NaN();  // With n - 1.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double within_std = std::numeric_limits<double>::quiet_NaN();  // Over the evaluations of one training.
};

// Summarises one value a training. REQUIRES, also of the next: no NaN.
Summary Summarise(const std::vector<double>& values);
Summary SummariseTrainings(const NestedSummary& results);

}  // namespace inlier

#endif  // INLIER_RESULTS_STATISTICS_NESTED_RESULTS_H_
