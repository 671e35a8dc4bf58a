#include "results/statistics/nested_results.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "results/statistics/mean.h"

namespace inlier {
namespace {

std::optional<double> FiniteDeviation(const std::vector<double>& values) {
  const std::optional<double> deviation = SampleDeviation(values);
  return deviation && std::isfinite(*deviation) ? deviation : std::nullopt;
}

std::optional<double> WithinDeviation(const std::vector<std::vector<double>>& trainings) {
  double squares = 0;
  std::size_t degrees = 0;
  for (const std::vector<double>& results : trainings) {
    if (results.size() < 2) continue;
    squares += SampleVariance(results) * static_cast<double>(results.size() - 1);
    degrees += results.size() - 1;
  }
  if (degrees == 0 || !std::isfinite(squares)) return std::nullopt;
  return std::sqrt(squares / static_cast<double>(degrees));
}

}  // namespace

NestedSummary SummariseNested(const std::vector<std::pair<std::string, double>>& results) {
  std::vector<std::vector<double>> trainings;
  std::unordered_map<std::string, std::size_t> places;
  NestedSummary summary;
  for (const auto& [training, value] : results) {
    const auto [place, is_new] = places.try_emplace(training, trainings.size());
    if (is_new || training.empty()) place->second = trainings.size();
    if (place->second == trainings.size()) trainings.emplace_back();
    trainings[place->second].push_back(value);
    summary.values.push_back(value);
  }
  for (const std::vector<double>& of_training : trainings) {
    summary.means.push_back(Mean(of_training));
    summary.evaluations = std::max(summary.evaluations, of_training.size());
  }
  summary.std = FiniteDeviation(summary.means);
  summary.within_std = WithinDeviation(trainings);
  summary.pooled_std = FiniteDeviation(summary.values);
  return summary;
}

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
