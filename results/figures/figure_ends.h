// Ranges and tics of axes.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_FIGURES_FIGURE_ENDS_H_
#define INLIER_RESULTS_FIGURES_FIGURE_ENDS_H_

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "results/figures/figure.h"

namespace inlier {

// The ends of numbers.
struct Ends {
  double low = INFINITY, high = -INFINITY;

  void Add(double value);  // NaN: nothing.
  // A little wider, and never empty: 0 to 1 without a number.
  Ends WithMargin(bool logarithmic) const;
  // Round numbers for a logarithmic axis of so few decades that gnuplot would name one or none of them; else empty.
  std::vector<double> LogTics() const;
};

// With a margin, over all points; on y of mean - std and mean + std.
Ends XEnds(const Figure& figure);
Ends YEnds(const Figure& figure);

// mean - std and mean + std; on a logarithmic axis not below the smallest value.
std::pair<double, double> Spread(const Summary& y, bool logarithmic);

// 1, 2 or 5 times a power of ten: the distance of about ten tics on `size` places.
std::size_t RoundStep(std::size_t size);

// InvalidArgument where `value` of `name` has no place on the logarithmic `axis`, "x" or "y".
absl::Status CheckLogarithm(const char* axis, const std::string& name, double value);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_FIGURE_ENDS_H_
