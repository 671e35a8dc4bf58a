#include "cli/plots/statistics.h"

#include <algorithm>

#include "base/statistics/mean.h"

namespace inlier {

Summary Summarise(const std::vector<double>& values) {
  Summary summary;
  summary.n = static_cast<std::uint32_t>(values.size());
  if (values.empty()) return summary;
  summary.mean = Mean(values);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  summary.min = *least;
  summary.max = *most;
  summary.std = SampleDeviation(values).value_or(summary.std);
  return summary;
}

Summary SummariseTrainings(const NestedSummary& results) {
  Summary summary = Summarise(results.means);
  summary.evaluations = static_cast<std::uint32_t>(results.evaluations);
  summary.within_std = results.within_std.value_or(summary.within_std);
  return summary;
}

}  // namespace inlier
