// The values of an axis with `normal`: numbers of a normal or log-normal distribution, within limits where it has them.
//
// A value is the quantile of a draw, so that draws which fill the unit interval evenly fill the distribution evenly. Limits
// take the quantiles between them, which is the distribution of numbers that are drawn again until they lie within.
//
// Thread safety: const values.
#ifndef INLIER_SPEC_VALUES_SAMPLE_NORMAL_H_
#define INLIER_SPEC_VALUES_SAMPLE_NORMAL_H_

#include <string>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/values/portable_math.h"

namespace inlier {

class SampleNormal {
 public:
  // `whole`: the field takes whole numbers only. REQUIRES: FormProblem(spec, whole) is "".
  SampleNormal(const v1::AxisNormal& spec, bool whole);

  // The problem with a specification, with its remedy; "" when there is none.
  static std::string FormProblem(const v1::AxisNormal& spec, bool whole);

  // Whole for a whole field, else of `digits` significant digits.
  double At(UnitNumber draw) const;
  // "normal, mean -7, std 1.5, log, at most 0.1".
  std::string ToString() const;

 private:
  // A limit, counted in standard deviations from the mean.
  double Standard(double limit) const;

  v1::AxisNormal spec_;
  bool whole_;
  double below_ = 0, within_ = 1, above_ = 0;  // Probabilities, whose sum is 1, in relation to the limits.
};

}  // namespace inlier

#endif  // INLIER_SPEC_VALUES_SAMPLE_NORMAL_H_
