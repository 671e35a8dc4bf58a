// Logarithm, exponential, power and the normal quantile by single IEEE operations: the same on every machine, where those of
// the C library differ in the last bit. Their errors are a few units in the last place.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_VALUES_PORTABLE_MATH_H_
#define INLIER_SPEC_VALUES_PORTABLE_MATH_H_

#include <cstdint>

namespace inlier {

// Natural; -Infinity at 0, NaN below.
double PortableLog(double x);
double PortableExp(double x);
// Whole exponents up to 1024 by multiplication, others by logarithm: NaN for them below 0.
double PortablePower(double base, double exponent);

// Below which a standard normal number lies with probability `p`; infinite at 0 and 1. Wichura 1988, algorithm AS 241.
double NormalQuantile(double p);

// To so many significant decimal digits, 1 to 17.
double RoundedTo(std::uint32_t digits, double value);

// A number in [0, 1), as a multiple of 2^-53.
struct UnitNumber {
  static constexpr int kBits = 53;
  std::uint64_t numerator = 0;
  double value() const { return static_cast<double>(numerator) * 0x1p-53; }
  // A whole number from 0 to count - 1, each as probable.
  std::uint64_t Below(std::uint64_t count) const {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(numerator) * count >> kBits);
  }
};

}  // namespace inlier

#endif  // INLIER_SPEC_VALUES_PORTABLE_MATH_H_
