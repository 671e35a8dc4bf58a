// Numbers over repeated runs.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_PLOTS_STATISTICS_H_
#define INLIER_CLI_PLOTS_STATISTICS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "base/statistics/nested_results.h"

namespace inlier {

struct Summary {
  std::uint32_t n = 0;            // Trainings.
  std::uint32_t evaluations = 1;  // Most of one training, which counts with the mean over them.
  double mean = std::numeric_limits<double>::quiet_NaN();  // NaN without a value; the same for min and max.
  double std = std::numeric_limits<double>::quiet_NaN();   // With n - 1; NaN for fewer than two trainings.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
  double within_std =
      std::numeric_limits<double>::quiet_NaN();  // Over the evaluations of one training; NaN without two.
};

// Of one value a training. REQUIRES: no NaN. The same for the next.
Summary Summarise(const std::vector<double>& values);
Summary SummariseTrainings(const NestedSummary& results);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_STATISTICS_H_
