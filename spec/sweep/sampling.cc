#include "spec/sweep/sampling.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "spec/schema/number_text.h"
#include "spec/sweep/philox.h"
#include "spec/sweep/sobol.h"

namespace inlier {
namespace {

// Whole numbers up to here are doubles exactly, and so is one more.
constexpr double kWholeMax = 0x1p52;

double RoundedTo(std::uint32_t digits, double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific,
                                 static_cast<int>(digits) - 1)
                       .ptr;
  double rounded = value;
  std::from_chars(text, end, rounded);
  return rounded;
}

}  // namespace

UnitNumber SamplePlan::Draw(std::uint32_t sample, int dimension) const {
  if (spec_.has_sobol()) {
    const v1::SobolSampling& sobol = spec_.sobol();
    std::uint32_t bits = SobolBits(dimension, sample);
    if (sobol.scramble()) bits = OwenScramble(bits, dimension, sobol.seed());
    return {static_cast<std::uint64_t>(bits) << (UnitNumber::kBits - 32)};
  }
  const auto words =
      Philox({sample, 0, static_cast<std::uint32_t>(dimension), 0}, {spec_.random().seed(), 0});
  const std::uint64_t bits = static_cast<std::uint64_t>(words[0]) << 32 | words[1];
  return {bits >> (64 - UnitNumber::kBits)};
}

std::string SamplePlan::ToString() const {
  std::string text = std::to_string(trials()) + " samples, ";
  if (spec_.has_random()) return text + "random, seed " + std::to_string(spec_.random().seed());
  if (!spec_.sobol().scramble()) return text + "Sobol, not scrambled";
  return text + "Sobol, scrambled, seed " + std::to_string(spec_.sobol().seed());
}

std::string RangeSpecProblem(const v1::AxisRange& spec, bool whole) {
  const double min = spec.min(), max = spec.max();
  if (!spec.has_min() || !spec.has_max()) return "needs both ends; write {min: 1e-5, max: 1e-2}";
  if (!std::isfinite(min) || !std::isfinite(max)) return "an end is not finite; give two numbers";
  if (min >= max) {
    return "min " + FormatNumber(min) + " is not below max " + FormatNumber(max) +
           "; exchange them, or put the one value into base";
  }
  if (spec.log() && min <= 0)
    return "log needs min above 0, not " + FormatNumber(min) + "; raise min, or leave out log";
  if (spec.integer() || whole) {
    if (std::trunc(min) != min || std::trunc(max) != max)
      return std::string("the ends of whole numbers must be whole") +
             (whole ? ", and the field takes no others" : "") + "; give whole ends";
    if (std::abs(min) > kWholeMax || std::abs(max) > kWholeMax)
      return "the ends are too large; stay below 4.5e15";
    if (spec.has_digits()) return "digits is for ranges that are not of whole numbers; leave it out";
  }
  return "";
}

SampleRange::SampleRange(const v1::AxisRange& spec, bool whole)
    : spec_(spec), integer_(spec.integer() || whole) {
  if (!spec_.log()) return;
  double root = (integer_ ? spec_.max() + 1 : spec_.max()) / spec_.min();
  for (double& place : roots_) place = root = std::sqrt(root);
}

double SampleRange::Geometric(double low, UnitNumber draw) const {
  double value = low;
  for (int bit = 0; bit < UnitNumber::kBits; ++bit) {
    if ((draw.numerator >> (UnitNumber::kBits - 1 - bit) & 1u) != 0) value *= roots_[bit];
  }
  return value;
}

double SampleRange::At(UnitNumber draw) const {
  const double min = spec_.min(), max = spec_.max();
  double value = 0;
  if (spec_.log()) {
    value = Geometric(min, draw);
    value = integer_ ? std::floor(value) : RoundedTo(spec_.digits(), value);
  } else if (integer_) {
    value = min + static_cast<double>(draw.Below(static_cast<std::uint64_t>(max - min) + 1));
  } else {
    const double across = max - min;
    const double part = across * draw.value();
    value = RoundedTo(spec_.digits(), min + part);
  }
  return std::clamp(value, min, max);
}

std::string SampleRange::ToString() const {
  return FormatNumber(spec_.min()) + " to " + FormatNumber(spec_.max()) + (integer_ ? ", whole" : "") +
         (spec_.log() ? ", log" : "");
}

}  // namespace inlier
