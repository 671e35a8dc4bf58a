// The samples of a sweep: numbers that are a function of (sampling, sample, dimension), and an axis' value for each.
//
// Every number is exact: integers, and doubles by single IEEE operations (no library functions, no fused
// multiply-add), so that all machines draw the same trials.
//
// Thread safety: const values.
#ifndef INLIER_SPEC_SWEEP_SAMPLING_H_
#define INLIER_SPEC_SWEEP_SAMPLING_H_

#include <array>
#include <cstdint>
#include <string>

#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

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

class SamplePlan {
 public:
  SamplePlan() = default;
  // REQUIRES: one kind of sampling is chosen.
  explicit SamplePlan(const v1::SamplingSpec& spec) : spec_(spec) {}

  // Samples drawn.
  std::uint32_t trials() const {
    return spec_.has_sobol() ? spec_.sobol().trials() : spec_.random().trials();
  }
  // REQUIRES: 0 <= dimension < kSobolDimensions.
  UnitNumber Draw(std::uint32_t sample, int dimension) const;
  // "256 samples, Sobol, scrambled, seed 1".
  std::string ToString() const;

 private:
  v1::SamplingSpec spec_;
};

// The value of an axis with `range` for a draw.
class SampleRange {
 public:
  // `whole`: the field takes whole numbers only. REQUIRES: RangeSpecProblem(spec, whole) is "".
  SampleRange(const v1::AxisRange& spec, bool whole);

  // Uniform in [min, max], or with `log` in its logarithm; whole for a whole range, else of `digits` significant digits.
  double At(UnitNumber draw) const;
  // "1e-5 to 0.01, log".
  std::string ToString() const;

 private:
  // low * (high / low)^u.
  double Geometric(double low, UnitNumber draw) const;

  v1::AxisRange spec_;
  bool integer_ = false;
  std::array<double, UnitNumber::kBits> roots_{};  // Log: (high / low)^(1/2), ^(1/4), ...
};

// The problem with a range, with its remedy; "" when there is none.
std::string RangeSpecProblem(const v1::AxisRange& spec, bool whole);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_SAMPLING_H_
