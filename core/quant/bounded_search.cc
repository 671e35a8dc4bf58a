#include "core/quant/bounded_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace inlier {
namespace {

constexpr int kMostEvaluations = 500;
constexpr double kPlaceTolerance = 1e-5;

struct Point {
  double x;
  double f;
};

// The step from `best` to the lowest point of the parabola through three points, as a fraction p / q with q >= 0.
std::pair<double, double> StepOfParabola(const Point& best, const Point& second, const Point& third) {
  const double r = (best.x - second.x) * (best.f - third.f);
  double q = (best.x - third.x) * (best.f - second.f);
  double p = (best.x - third.x) * q - (best.x - second.x) * r;
  q = 2.0 * (q - r);
  if (q > 0) p = -p;
  return {p, std::abs(q)};
}

}  // namespace

BoundedMinimum MinimizeBounded(const std::function<double(double)>& function, double low, double high) {
  const double golden = 0.5 * (3.0 - std::sqrt(5.0));
  const double relative_tolerance = std::sqrt(2.2e-16);

  const double start = low + golden * (high - low);
  Point best = {start, function(start)};
  Point second = best;
  Point third = best;
  int evaluations = 1;
  double step = 0;
  double step_before = 0;
  while (evaluations < kMostEvaluations) {
    const double middle = 0.5 * (low + high);
    const double tolerance = relative_tolerance * std::abs(best.x) + kPlaceTolerance / 3.0;
    if (std::abs(best.x - middle) <= 2.0 * tolerance - 0.5 * (high - low)) break;

    bool parabola_helps = false;
    if (std::abs(step_before) > tolerance) {
      const auto [p, q] = StepOfParabola(best, second, third);
      const double last_but_one = step_before;
      step_before = step;
      // Inside the bounds, and less than half the step before the last one.
      parabola_helps =
          std::abs(p) < std::abs(0.5 * q * last_but_one) && p > q * (low - best.x) && p < q * (high - best.x);
      if (parabola_helps) {
        step = p / q;
        const double x = best.x + step;
        if (x - low < 2.0 * tolerance || high - x < 2.0 * tolerance)
          step = middle >= best.x ? tolerance : -tolerance;
      }
    }
    if (!parabola_helps) {
      step_before = best.x >= middle ? low - best.x : high - best.x;
      step = golden * step_before;
    }

    const double x = best.x + (step >= 0 ? 1.0 : -1.0) * std::max(std::abs(step), tolerance);
    const Point tried = {x, function(x)};
    ++evaluations;
    if (tried.f <= best.f) {
      (tried.x >= best.x ? low : high) = best.x;
      third = second;
      second = best;
      best = tried;
      continue;
    }
    (tried.x < best.x ? low : high) = tried.x;
    if (tried.f <= second.f || second.x == best.x) {
      third = second;
      second = tried;
    } else if (tried.f <= third.f || third.x == best.x || third.x == second.x) {
      third = tried;
    }
  }
  return {best.x, best.f};
}

}  // namespace inlier
