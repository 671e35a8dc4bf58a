// Numbers over repeated runs.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_PLOTS_STATISTICS_H_
#define INLIER_CLI_PLOTS_STATISTICS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace inlier {

struct Summary {
  std::uint32_t n = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();  // NaN without a value; the same for min and max.
  double std = std::numeric_limits<double>::quiet_NaN();   // With n - 1; NaN for fewer than two values.
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

// REQUIRES: no NaN.
Summary Summarise(const std::vector<double>& values);

// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs. Nothing for fewer than
// two pairs or where one side does not vary. REQUIRES: as many x as y, no NaN.
std::optional<double> SpearmanRho(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_STATISTICS_H_
