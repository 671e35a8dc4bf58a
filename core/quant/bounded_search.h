// The minimum of a function of one variable between two bounds.
#ifndef INLIER_CORE_QUANT_BOUNDED_SEARCH_H_
#define INLIER_CORE_QUANT_BOUNDED_SEARCH_H_

#include <functional>

namespace inlier {

struct BoundedMinimum {
  double at;
  double value;
};

// Brent's method without derivatives (R. P. Brent, Algorithms for Minimization without Derivatives, 1973,
// chapter 5): parabolas through the best three points, golden sections where those do not help. Ends when the
// place is known to about 1e-5, or after 500 evaluations. The bounds themselves are never evaluated. With
// several minima it finds any of them.
BoundedMinimum MinimizeBounded(const std::function<double(double)>& function, double low, double high);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_BOUNDED_SEARCH_H_
