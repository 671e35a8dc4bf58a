#include "spec/values/portable_math.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace inlier {
namespace {

// ln 2 in two parts, the first with 32 zeros at its end: its product with a small whole number is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Coefficients = std::array<double, 8>;

double Polynomial(const Coefficients& from_constant, double x) {
  double sum = 0;
  for (std::size_t i = from_constant.size(); i-- > 0;) sum = sum * x + from_constant[i];
  return sum;
}

}  // namespace

double PortableLog(double x) {
  if (x == 0) return -kInfinity;
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(x)) return x;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // 2 artanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int n = 25; n >= 3; n -= 2) sum = square * (1.0 / n + sum);
  return exponent * kLn2High + (2 * s + (2 * s * sum + exponent * kLn2Low));
}

double PortableExp(double x) {
  if (std::isnan(x)) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  const double twos = std::floor(x / 0.69314718055994531 + 0.5);
  const double rest = (x - twos * kLn2High) - twos * kLn2Low;
  double sum = 1;
  for (int n = 15; n > 0; --n) sum = 1 + rest * sum / n;
  return std::ldexp(sum, static_cast<int>(twos));
}

double PortablePower(double base, double exponent) {
  if (std::trunc(exponent) != exponent || std::abs(exponent) > 1024) {
    if (base == 0) return exponent > 0 ? 0 : kInfinity;
    return PortableExp(exponent * PortableLog(base));
  }
  double power = 1;
  for (int rest = std::abs(static_cast<int>(exponent)); rest > 0; rest /= 2, base *= base) {
    if (rest % 2 == 1) power *= base;
  }
  return exponent < 0 ? 1 / power : power;
}

double NormalQuantile(double p) {
  constexpr Coefficients kCentre = {
      3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
      4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr Coefficients kBelowCentre = {1.0,
                                         4.2313330701600911252e+1,
                                         6.8718700749205790830e+2,
                                         5.3941960214247511077e+3,
                                         2.1213794301586595867e+4,
                                         3.9307895800092710610e+4,
                                         2.8729085735721942674e+4,
                                         5.2264952788528545610e+3};
  constexpr Coefficients kTail = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr Coefficients kBelowTail = {1.0,
                                       2.05319162663775882187e0,
                                       1.67638483018380384940e0,
                                       6.89767334985100004550e-1,
                                       1.48103976427480074590e-1,
                                       1.51986665636164571966e-2,
                                       5.47593808499534494600e-4,
                                       1.05075007164441684324e-9};
  constexpr Coefficients kEnd = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                 1.78482653991729133580e0,  2.96560571828504891230e-1,
                                 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr Coefficients kBelowEnd = {1.0,
                                      5.99832206555887937690e-1,
                                      1.36929880922735805310e-1,
                                      1.48753612908506148525e-2,
                                      7.86869131145613259100e-4,
                                      1.84631831751005468180e-5,
                                      1.42151175831644588870e-7,
                                      2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * Polynomial(kCentre, r) / Polynomial(kBelowCentre, r);
  }
  const double rest = q < 0 ? p : 1 - p;
  if (rest <= 0) return q < 0 ? -kInfinity : kInfinity;
  const double r = std::sqrt(-PortableLog(rest));
  const double x = r <= 5 ? Polynomial(kTail, r - 1.6) / Polynomial(kBelowTail, r - 1.6)
                          : Polynomial(kEnd, r - 5) / Polynomial(kBelowEnd, r - 5);
  return q < 0 ? -x : x;
}

double RoundedTo(std::uint32_t digits, double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific,
                                 static_cast<int>(std::clamp(digits, 1u, 17u)) - 1)
                       .ptr;
  double rounded = value;
  std::from_chars(text, end, rounded);
  return rounded;
}

}  // namespace inlier
