#include "spec/sweep/sampling.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "spec/schema/limits.h"
#include "spec/schema/number_text.h"
#include "spec/values/philox.h"
#include "spec/values/sobol.h"

namespace inlier {
namespace {

// Whole numbers up to here are doubles exactly, and so is one more.
constexpr double kWholeMax = 0x1p52;

double StepsIn(const v1::AxisRange& spec) {
  return std::floor((spec.max() - spec.min()) / spec.step() * (1 + 0x1p-40)) + 1;
}

std::string StepProblem(const v1::AxisRange& spec, bool whole) {
  const double step = spec.step();
  if (!(step > 0) || !std::isfinite(step)) return "step is not above 0; give a number above 0";
  if (spec.log()) return "log has no equal steps; leave out step or log, or give values";
  if (spec.has_digits()) return "digits is for ranges without step; leave it out";
  if (whole && std::trunc(step) != step) return "steps of whole numbers must be whole; give a whole step";
  if (StepsIn(spec) < 2)
    return absl::StrCat("step ", FormatNumber(step),
                        " leads from min past max; lower it, or put the one value into base");
  if (StepsIn(spec) > Limits::kValuesMax)
    return absl::StrCat("step ", FormatNumber(step), " makes more than ", Limits::kValuesMax,
                        " values; raise it");
  return "";
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
  if (is_search()) {
    const v1::OptunaSampling& search = spec_.optuna();
    return absl::StrCat(trials(), trials() == 1 ? " point" : " points", " that Optuna proposes (",
                        v1::OptunaSampling::Sampler_Name(search.sampler()), "), ", search.parallel(),
                        " at once, seed ", search.seed());
  }
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
  if (spec.has_step()) return StepProblem(spec, spec.integer() || whole);
  return "";
}

SampleRange::SampleRange(const v1::AxisRange& spec, bool whole)
    : spec_(spec), integer_(spec.integer() || whole) {
  if (spec_.has_step()) {
    steps_ = static_cast<std::uint32_t>(StepsIn(spec_));
    while (scale_ < 1e22 && !(std::round(spec_.min() * scale_) / scale_ == spec_.min() &&
                              std::round(spec_.step() * scale_) / scale_ == spec_.step()))
      scale_ *= 10;
  }
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

double SampleRange::Step(std::uint32_t number) const {
  const double above = number * std::round(spec_.step() * scale_);
  return std::min((std::round(spec_.min() * scale_) + above) / scale_, spec_.max());
}

double SampleRange::At(UnitNumber draw) const {
  if (steps_ > 0) return Step(static_cast<std::uint32_t>(draw.Below(steps_)));
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
         (spec_.log() ? ", log" : "") + (steps_ > 0 ? ", step " + FormatNumber(spec_.step()) : "");
}

v1::AxisRange SampleRange::resolved() const {
  v1::AxisRange range = spec_;
  range.set_integer(integer_);
  range.set_max(last());
  return range;
}

std::string NumberProblem(const v1::AxisRange& range, double number) {
  if (!std::isfinite(number)) return "is not a finite number";
  const std::string text = FormatNumber(number);
  if (number < range.min()) return text + " is below min " + FormatNumber(range.min());
  if (number > range.max()) return text + " is above max " + FormatNumber(range.max());
  if (range.integer() && std::trunc(number) != number) return text + " is not a whole number";
  if (!range.has_step()) return "";
  const double steps = (number - range.min()) / range.step();
  return std::abs(steps - std::round(steps)) > 1e-6
             ? text + " is not min and a number of steps of " + FormatNumber(range.step())
             : "";
}

SampleWeights::SampleWeights(const google::protobuf::RepeatedField<double>& weights) {
  double sum = 0;
  for (const double weight : weights) sums_.push_back(sum += weight);
}

std::uint32_t SampleWeights::At(UnitNumber draw, std::uint32_t count) const {
  if (sums_.empty()) return static_cast<std::uint32_t>(draw.Below(count));
  // Below the whole sum, which rounding could reach: a value without weight is never drawn.
  const double place = std::min(draw.value() * sums_.back(), std::nextafter(sums_.back(), 0.0));
  return static_cast<std::uint32_t>(std::ranges::upper_bound(sums_, place) - sums_.begin());
}

}  // namespace inlier
