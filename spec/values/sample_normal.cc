#include "spec/values/sample_normal.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

constexpr double kWithinMin = 1e-9;  // Below it, rounding would decide what is drawn.

// The probability of a standard normal number below `z`, found by bisection: exactly as NormalQuantile has it.
double ProbabilityBelow(double z) {
  if (z > 0) return 1 - ProbabilityBelow(-z);
  double low = 0, high = 0.5;
  for (double middle = 0.25; middle > low && middle < high; middle = low + (high - low) / 2)
    (NormalQuantile(middle) < z ? low : high) = middle;
  return high;
}

}  // namespace

std::string SampleNormal::FormProblem(const v1::AxisNormal& spec, bool whole) {
  if (!spec.has_mean() || !spec.has_std()) return "needs mean and std; write {mean: 0.1, std: 0.02}";
  for (const double number : {spec.mean(), spec.std(), spec.min(), spec.max()}) {
    if (!std::isfinite(number)) return "a number is not finite; give finite ones";
  }
  if (spec.std() <= 0) return "std is not above 0; raise it, or put the mean into base";
  if (spec.has_min() && spec.has_max() && spec.min() >= spec.max())
    return absl::StrCat("min ", FormatNumber(spec.min()), " is not below max ", FormatNumber(spec.max()),
                        "; exchange them");
  if (spec.log() && ((spec.has_min() && spec.min() <= 0) || (spec.has_max() && spec.max() <= 0)))
    return "log has numbers above 0 only; raise the limit, or leave it out";
  if (whole && (std::trunc(spec.min()) != spec.min() || std::trunc(spec.max()) != spec.max()))
    return "the field takes whole numbers; give whole limits";
  if (whole && spec.has_digits()) return "digits is for fields that are not of whole numbers; leave it out";
  if (!(SampleNormal(spec, whole).within_ > kWithinMin))
    return "next to nothing lies within min and max; move them nearer to the mean" +
           std::string(spec.log() ? ", which with log is that of the natural logarithms" : "");
  return "";
}

SampleNormal::SampleNormal(const v1::AxisNormal& spec, bool whole) : spec_(spec), whole_(whole) {
  // Numbers that are rounded to a limit begin half a number beyond it.
  const double beyond = whole ? 0.5 : 0;
  const double low = spec.has_min() ? Standard(spec.min() - beyond) : -INFINITY;
  const double high = spec.has_max() ? Standard(spec.max() + beyond) : INFINITY;
  below_ = spec.has_min() ? ProbabilityBelow(low) : 0;
  above_ = spec.has_max() ? ProbabilityBelow(-high) : 0;
  // The smaller of two terms is the exact one.
  within_ = low > 0    ? ProbabilityBelow(-low) - above_
            : high < 0 ? ProbabilityBelow(high) - below_
                       : 1 - below_ - above_;
}

double SampleNormal::Standard(double limit) const {
  return ((spec_.log() ? PortableLog(limit) : limit) - spec_.mean()) / spec_.std();
}

double SampleNormal::At(UnitNumber draw) const {
  // The middle of the draw's interval, from both sides: no draw is at an infinite end.
  const double from_low = static_cast<double>(2 * draw.numerator + 1) * 0x1p-54;
  const double from_high =
      static_cast<double>(2 * ((1ull << UnitNumber::kBits) - draw.numerator) - 1) * 0x1p-54;
  const double lower = below_ + from_low * within_;
  const double z = lower < 0.5 ? NormalQuantile(lower) : -NormalQuantile(above_ + from_high * within_);
  const double number = spec_.mean() + spec_.std() * z;
  double value = spec_.log() ? PortableExp(number) : number;
  value = whole_ ? std::floor(value + 0.5) : RoundedTo(spec_.digits(), value);
  if (spec_.has_min()) value = std::max(value, spec_.min());
  if (spec_.has_max()) value = std::min(value, spec_.max());
  return value;
}

std::string SampleNormal::ToString() const {
  std::string text =
      absl::StrCat("normal, mean ", FormatNumber(spec_.mean()), ", std ", FormatNumber(spec_.std()),
                   spec_.log() ? ", log" : "", whole_ ? ", whole" : "");
  if (spec_.has_min()) absl::StrAppend(&text, ", at least ", FormatNumber(spec_.min()));
  if (spec_.has_max()) absl::StrAppend(&text, ", at most ", FormatNumber(spec_.max()));
  return text;
}

}  // namespace inlier
