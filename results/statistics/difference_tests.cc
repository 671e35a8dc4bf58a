#include "results/statistics/difference_tests.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random_stream.h"
#include "boost/math/distributions/students_t.hpp"
#include "results/statistics/mean.h"
#include "results/statistics/rank_correlation.h"

namespace inlier {
namespace {

bool AllEqual(const std::vector<double>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

using Quiet = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;
using StudentsT = boost::math::students_t_distribution<double, Quiet>;

std::optional<double> TwoSidedP(double t, double degrees) {
  if (!std::isfinite(t) || !std::isfinite(degrees) || degrees <= 0) return std::nullopt;
  return 2 * cdf(complement(StudentsT(degrees), std::abs(t)));
}

std::vector<double> DifferencesOf(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<double> differences;
  for (const auto& [a, b] : pairs) differences.push_back(a - b);
  return differences;
}

// The share of the permutations of ranks with a correlation as far from zero; only the sum of products varies.
double ExactP(const std::vector<double>& x, std::vector<double> y) {
  const double middle = (static_cast<double>(x.size()) + 1) / 2;
  const auto size = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - middle) * (y[i] - middle);
    return std::abs(sum);
  };
  const double found = size();
  // Permutes places, so that each of equal ranks has its own permutations; sums of ranks are exact.
  std::vector<std::size_t> places(y.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const std::vector<double> ranks = y;
  std::size_t all = 0, as_large = 0;
  do {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = ranks[places[i]];
    ++all;
    if (size() >= found) ++as_large;
  } while (std::next_permutation(places.begin(), places.end()));
  return static_cast<double>(as_large) / static_cast<double>(all);
}

double MeanOfResample(const std::vector<double>& values, RandomStream& random) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[random.Below(values.size())];
  return sum / static_cast<double>(values.size());
}

double Quantile(const std::vector<double>& sorted, double probability) {
  const double place = probability * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : std::midpoint(values[half - 1], values[half]);
}

std::optional<double> WelchP(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || b.size() < 2 || (AllEqual(a) && AllEqual(b))) return std::nullopt;
  // A side of equal values has no variance, even where rounding of its mean leaves some.
  const double of_a = AllEqual(a) ? 0 : SampleVariance(a) / static_cast<double>(a.size());
  const double of_b = AllEqual(b) ? 0 : SampleVariance(b) / static_cast<double>(b.size());
  const double sum = of_a + of_b;
  const double degrees =
      sum * sum /
      (of_a * of_a / static_cast<double>(a.size() - 1) + of_b * of_b / static_cast<double>(b.size() - 1));
  return TwoSidedP((Mean(a) - Mean(b)) / std::sqrt(sum), degrees);
}

std::optional<double> PairedP(const std::vector<std::pair<double, double>>& pairs) {
  const std::vector<double> differences = DifferencesOf(pairs);
  if (differences.size() < 2 || AllEqual(differences)) return std::nullopt;
  const auto count = static_cast<double>(differences.size());
  return TwoSidedP(Mean(differences) / std::sqrt(SampleVariance(differences) / count), count - 1);
}

std::optional<Interval> PairedInterval(const std::vector<std::pair<double, double>>& pairs,
                                       double confidence) {
  const std::vector<double> differences = DifferencesOf(pairs);
  if (differences.size() < 2 || AllEqual(differences)) return std::nullopt;
  const auto count = static_cast<double>(differences.size());
  const double mean = Mean(differences);
  const double half = quantile(complement(StudentsT(count - 1), (1 - confidence) / 2)) *
                      std::sqrt(SampleVariance(differences) / count);
  if (!std::isfinite(mean) || !std::isfinite(half)) return std::nullopt;
  return Interval{mean - half, mean + half};
}

std::optional<double> SpearmanP(const std::vector<double>& x, const std::vector<double>& y) {
  const std::optional<double> rho = SpearmanRho(x, y);
  if (!rho || x.size() < 3) return std::nullopt;
  if (x.size() <= kExactPairs) return ExactP(Ranks(x), Ranks(y));
  const auto degrees = static_cast<double>(x.size()) - 2;
  const double rest = 1 - *rho * *rho;
  // Where every rank agrees t is unbounded, and p is below the resolution of a double near 1.
  return rest <= 0 ? std::optional(0.0) : TwoSidedP(*rho * std::sqrt(degrees / rest), degrees);
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
  std::ranges::sort(differences);
  return Interval{Quantile(differences, (1 - confidence) / 2), Quantile(differences, (1 + confidence) / 2)};
}

}  // namespace inlier
