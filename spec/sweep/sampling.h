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
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/values/portable_math.h"

namespace inlier {

class SamplePlan {
 public:
  SamplePlan() = default;
  // REQUIRES: one kind of sampling is chosen.
  explicit SamplePlan(const v1::SamplingSpec& spec) : spec_(spec) {}

  // Samples drawn.
  std::uint32_t trials() const {
    if (is_search()) return spec_.optuna().trials();
    return spec_.has_sobol() ? spec_.sobol().trials() : spec_.random().trials();
  }
  // The samples are rows that a sampler asks for.
  bool is_search() const { return spec_.has_optuna(); }
  // REQUIRES: 0 <= dimension < kSobolDimensions, and no search.
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
  // Of a range with `step` one of its values, all alike.
  double At(UnitNumber draw) const;
  // Of a range with `step`: how many values it has, and the values, ascending.
  std::uint32_t steps() const { return steps_; }
  double Step(std::uint32_t number) const;
  double last() const { return steps_ > 0 ? Step(steps_ - 1) : spec_.max(); }
  // "1e-5 to 0.01, log".
  std::string ToString() const;
  // The range with `integer` where the field takes whole numbers only, and with its last number as max.
  v1::AxisRange resolved() const;

 private:
  // low * (high / low)^u.
  double Geometric(double low, UnitNumber draw) const;

  v1::AxisRange spec_;
  bool integer_ = false;
  std::uint32_t steps_ = 0;
  double scale_ = 1;  // Power of ten by which min and step are whole: three steps of 0.1 are 0.3.
  std::array<double, UnitNumber::kBits> roots_{};  // Log: (high / low)^(1/2), ^(1/4), ...
};

// The problem with a range, with its remedy; "" when there is none.
std::string RangeSpecProblem(const v1::AxisRange& spec, bool whole);
// The problem with a number that shall be one of `range`, with its remedy; "" when it is. REQUIRES: SampleRange::resolved.
std::string NumberProblem(const v1::AxisRange& range, double number);

// The values of an axis with `weights`: each is drawn in proportion to its weight.
class SampleWeights {
 public:
  // All alike.
  SampleWeights() = default;
  // REQUIRES: no weight is negative, and their sum is above 0 and finite.
  explicit SampleWeights(const google::protobuf::RepeatedField<double>& weights);

  // The number of one of `count` values.
  std::uint32_t At(UnitNumber draw, std::uint32_t count) const;

 private:
  std::vector<double> sums_;  // Of the weights up to each.
};

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_SAMPLING_H_
