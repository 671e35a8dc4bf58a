// Statistics of a few results: median, tests and intervals of a difference of means, p of a rank correlation.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_STATISTICS_DIFFERENCE_TESTS_H_
#define INLIER_RESULTS_STATISTICS_DIFFERENCE_TESTS_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace inlier {

// REQUIRES of all: the values are numbers; of Median: there is one. Of an even number the mean of the middle two.
double Median(std::vector<double> values);

// Two-sided p of Welch's t-test. nullopt with less than two values on a side, or where each side has equal values.
std::optional<double> WelchP(const std::vector<double>& a, const std::vector<double>& b);

// Two-sided p of the paired t-test. nullopt with less than two pairs, or where all differences are equal.
std::optional<double> PairedP(const std::vector<std::pair<double, double>>& pairs);

struct Interval {
  double low = 0;
  double high = 0;
};

// Student's t interval of the mean difference: mean -+ t * s / sqrt(n), n - 1 degrees of freedom; nullopt as PairedP.
std::optional<Interval> PairedInterval(const std::vector<std::pair<double, double>>& pairs,
                                       double confidence);

// Two-sided p of Spearman's rank correlation: for up to kExactPairs the share of all permutations of y with one as large,
// else Student's t with n - 2 degrees of freedom. nullopt with less than three pairs and without a correlation.
std::optional<double> SpearmanP(const std::vector<double>& x, const std::vector<double>& y);
inline constexpr std::size_t kExactPairs = 9;

// Percentile bootstrap interval of Mean(a) - Mean(b): each side is resampled by itself, with replacement, and the
// quantiles are interpolated. The same values give the same interval. nullopt with less than two values on a side.
std::optional<Interval> BootstrapDifference(const std::vector<double>& a, const std::vector<double>& b,
                                            double confidence);
// At most kBootstrapDraws, thus fewer resamples for many values.
inline constexpr std::size_t kBootstrapResamples = 10'000;
inline constexpr std::size_t kBootstrapDraws = 20'000'000;

}  // namespace inlier

#endif  // INLIER_RESULTS_STATISTICS_DIFFERENCE_TESTS_H_
