// Spearman's rank correlation.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_STATISTICS_RANK_CORRELATION_H_
#define INLIER_RESULTS_STATISTICS_RANK_CORRELATION_H_

#include <optional>
#include <vector>

namespace inlier {

// The place of each value among all, from 1; equal values share the mean of their places. REQUIRES: no NaN.
std::vector<double> Ranks(const std::vector<double>& values);

// Pearson's correlation of the ranks; nullopt for fewer than two pairs or a constant side. REQUIRES: pairs, no NaN.
std::optional<double> SpearmanRho(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace inlier

#endif  // INLIER_RESULTS_STATISTICS_RANK_CORRELATION_H_
