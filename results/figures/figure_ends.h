// Ranges and tics of axes.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_FIGURES_FIGURE_ENDS_H_
#define INLIER_RESULTS_FIGURES_FIGURE_ENDS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "results/figures/figure.h"

namespace inlier {

struct Ends {
  double low = INFINITY, high = -INFINITY;

  void Add(double value);  // Ignores NaN.
  // A little wider, and never empty: 0 to 1 without a number.
  Ends WithMargin(bool logarithmic) const;
  // Round numbers for a logarithmic axis of too few decades for gnuplot's own tics; else empty.
  std::vector<double> LogTics() const;
};

// The ends of all points with a margin; on y of mean - std and mean + std.
Ends XEnds(const Figure& figure);
Ends YEnds(const Figure& figure);

// mean - std and mean + std; on a logarithmic axis not below the smallest value.
std::pair<double, double> Spread(const Summary& y, bool logarithmic);

// The distance of about ten tics on `size` places: 1, 2 or 5 times a power of ten.
std::size_t RoundStep(std::size_t size);

// InvalidArgument where `value` of `name` has no place on the logarithmic `axis`, "x" or "y".
absl::Status CheckLogarithm(const char* axis, const std::string& name, double value);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_FIGURE_ENDS_H_
