#include "coordinator/tables/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/mean.h"
#include "base/random_stream.h"
#include "boost/math/distributions/students_t.hpp"

namespace inlier {
namespace {

bool AllEqual(const std::vector<double>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

std::optional<double> TwoSidedP(double t, double degrees) {
  if (!std::isfinite(t) || !std::isfinite(degrees) || degrees <= 0) return std::nullopt;
  using Quiet = boost::math::policies::policy<
      boost::math::policies::domain_error<boost::math::policies::ignore_error>,
      boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
      boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;
  const boost::math::students_t_distribution<double, Quiet> distribution(degrees);
  return 2 * cdf(complement(distribution, std::abs(t)));
}

double MeanOfResample(const std::vector<double>& values, RandomStream& random) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.Below(values.size())];
  return sum / static_cast<double>(values.size());
}

// Of values in order.
double Quantile(const std::vector<double>& sorted, double probability) {
  const double place = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<double> SampleDeviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  return std::sqrt(SampleVariance(values));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : std::midpoint(values[half - 1], values[half]);
}

std::optional<double> WelchP(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || b.size() < 2 || (AllEqual(a) && AllEqual(b))) return std::nullopt;
  // A side of equal values has no variance, also where rounding of its mean leaves some.
  const double of_a = AllEqual(a) ? 0 : SampleVariance(a) / static_cast<double>(a.size());
  const double of_b = AllEqual(b) ? 0 : SampleVariance(b) / static_cast<double>(b.size());
  const double sum = of_a + of_b;
  const double degrees =
      sum * sum /
      (of_a * of_a / static_cast<double>(a.size() - 1) + of_b * of_b / static_cast<double>(b.size() - 1));
  return TwoSidedP((Mean(a) - Mean(b)) / std::sqrt(sum), degrees);
}

std::optional<double> PairedP(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<double> differences;
  for (const auto& [a, b] : pairs) differences.push_back(a - b);
  if (differences.size() < 2 || AllEqual(differences)) return std::nullopt;
  const auto count = static_cast<double>(differences.size());
  return TwoSidedP(Mean(differences) / std::sqrt(SampleVariance(differences) / count), count - 1);
}

std::optional<Interval> BootstrapDifference(const std::vector<double>& a, const std::vector<double>& b,
                                            double confidence) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  RandomStream random(0, "table.bootstrap");
  std::vector<double> differences(
      std::clamp<std::size_t>(kBootstrapDraws / (a.size() + b.size()), 100, kBootstrapResamples));
  for (double& difference : differences) {
    const double resampled = MeanOfResample(a, random);
    difference = resampled - MeanOfResample(b, random);
  }
  std::sort(differences.begin(), differences.end());
  return Interval{Quantile(differences, (1 - confidence) / 2), Quantile(differences, (1 + confidence) / 2)};
}

}  // namespace inlier
