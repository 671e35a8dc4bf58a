#include <cmath>

#include "core/kernels/rows.h"

namespace inlier::kernels {
namespace {

// use(raise), with raise(m) = m^exponent for m >= 0: the usual powers as products.
template <typename R, typename Use>
INLIER_INLINE void WithPower(double exponent, Use use) {
  if (exponent == 0) return use([](R) INLIER_LAMBDA { return R{1}; });
  if (exponent == 1) return use([](R m) INLIER_LAMBDA { return m; });
  if (exponent == 2) return use([](R m) INLIER_LAMBDA { return m * m; });
  if (exponent == 3) return use([](R m) INLIER_LAMBDA { return m * m * m; });
  if (exponent == 4) return use([](R m) INLIER_LAMBDA { return (m * m) * (m * m); });
  const R general = static_cast<R>(exponent);
  use([general](R m) INLIER_LAMBDA { return std::pow(m, general); });
}

template <typename R>
INLIER_INLINE void SumPowersOf(const ScaledPower& scaled, std::int64_t rows, std::int64_t width, const R* x,
                               double* sums) {
  const R inverse = static_cast<R>(1 / scaled.tau);
  WithPower<R>(scaled.power, [=](auto raise) INLIER_LAMBDA {
    for (std::int64_t row = 0; row < rows; ++row) {
      const R* from = x + row * width;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < width; ++i) sum += raise(std::fabs(from[i]) * inverse);
      sums[row] = sum;
    }
  });
}

template <typename R>
INLIER_INLINE void PowerGradientOf(const ScaledPower& scaled, std::int64_t rows, std::int64_t width,
                                   const R* x, R scale, R* dx) {
  const R inverse = static_cast<R>(1 / scaled.tau);
  const R slope = static_cast<R>(scale * scaled.power / scaled.tau);
  WithPower<R>(scaled.power - 1, [=](auto raise) INLIER_LAMBDA {
#pragma omp simd
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const R size = slope * raise(std::fabs(x[i]) * inverse);
      dx[i] = x[i] == 0 ? R{0} : x[i] < 0 ? -size : size;
    }
  });
}

}  // namespace

#define INLIER_POWERS(R)                                                                                \
  template <>                                                                                           \
  INLIER_KERNEL void SumPowers<R>(const ScaledPower& scaled, std::int64_t rows, std::int64_t width,     \
                                  const R* x, double* sums) {                                           \
    SumPowersOf<R>(scaled, rows, width, x, sums);                                                       \
  }                                                                                                     \
  template <>                                                                                           \
  INLIER_KERNEL void PowerGradient<R>(const ScaledPower& scaled, std::int64_t rows, std::int64_t width, \
                                      const R* x, R scale, R* dx) {                                     \
    PowerGradientOf<R>(scaled, rows, width, x, scale, dx);                                              \
  }

INLIER_POWERS(float)
INLIER_POWERS(double)

}  // namespace inlier::kernels
