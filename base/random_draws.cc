#include "base/random_draws.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace inlier {
namespace {

// Uniform in (0, 1].
double Positive(RandomStream& stream) { return 1 - stream.Uniform(); }

// Box and Muller 1958.
double DrawNormal(RandomStream& stream) {
  const double radius = std::sqrt(-2 * std::log(Positive(stream)));
  return radius * std::cos(2 * std::numbers::pi * stream.Uniform());
}

}  // namespace

// Marsaglia and Tsang 2000; alpha < 1 by their Gamma(alpha) = Gamma(alpha + 1) * U^(1 / alpha).
double DrawLogGamma(double alpha, RandomStream& stream) {
  INLIER_CHECK(alpha > 0);
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  const double boost = alpha < 1 ? std::log(Positive(stream)) / alpha : 0;
  while (true) {
    const double x = DrawNormal(stream);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(Positive(stream)) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + boost;
  }
}

}  // namespace inlier
