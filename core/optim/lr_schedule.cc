#include "core/optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace inlier {

double LrSchedule::At(std::int64_t k) const {
  INLIER_CHECK(k >= 0);
  if (k < warmup) return peak * static_cast<double>(k) / static_cast<double>(warmup);
  const std::int64_t begin = warmup + stable;
  if (decay == Decay::kConstant || k < begin) return peak;
  const double length = static_cast<double>(std::max<std::int64_t>(1, total - begin));
  const double done = static_cast<double>(k - begin) / length;
  double left = 0;  // Of the decay: 1 at its begin, 0 at its end.
  switch (decay) {
    case Decay::kConstant:
      break;
    case Decay::kLinear:
      left = static_cast<double>(std::max<std::int64_t>(0, total - k)) / length;
      break;
    case Decay::kOneMinusSqrt:
      left = std::max(0.0, 1 - std::sqrt(done));
      break;
    case Decay::kCosine:
      left = std::max(0.0, 0.5 * (1 + std::cos(std::numbers::pi * done)));
      break;
  }
  return peak * (left * (1 - final_fraction) + final_fraction);
}

namespace {

LrSchedule WsdSchedule(const v1::WsdScheduleSpec& spec, double peak, std::int64_t warmup,
                       std::int64_t steps) {
  const std::int64_t decay = spec.has_decay_steps()
                                 ? std::int64_t{spec.decay_steps()}
                                 : std::llround(spec.decay_fraction() * static_cast<double>(steps));
  LrSchedule schedule{LrSchedule::Decay::kLinear,
                      peak,
                      warmup,
                      steps,
                      spec.final_fraction(),
                      std::max<std::int64_t>(0, steps - warmup - decay)};
  if (spec.form() == v1::WsdScheduleSpec::ONE_MINUS_SQRT) schedule.decay = LrSchedule::Decay::kOneMinusSqrt;
  if (spec.form() == v1::WsdScheduleSpec::COSINE) schedule.decay = LrSchedule::Decay::kCosine;
  return schedule;
}

}  // namespace

LrSchedule MakeLrSchedule(const v1::ScheduleSpec& spec, double peak, std::int64_t steps) {
  INLIER_CHECK(steps >= 1);
  const std::int64_t warmup = spec.has_warmup_fraction()
                                  ? std::llround(spec.warmup_fraction() * static_cast<double>(steps))
                                  : std::int64_t{spec.warmup_steps()};
  switch (spec.kind_case()) {
    case v1::ScheduleSpec::kConstant:
      return {LrSchedule::Decay::kConstant, peak, warmup, steps};
    case v1::ScheduleSpec::kCosine:
      return {LrSchedule::Decay::kCosine, peak, warmup, steps, spec.cosine().final_fraction()};
    case v1::ScheduleSpec::kWsd:
      return WsdSchedule(spec.wsd(), peak, warmup, steps);
    case v1::ScheduleSpec::kLinear:
    case v1::ScheduleSpec::KIND_NOT_SET:
      break;
  }
  const double end = spec.linear().final_fraction();
  const double share = static_cast<double>(warmup) / static_cast<double>(steps);
  const double rest = 1.0 - (1.0 - share) * end;
  // Without warm-up and with end = 1 the stretch is infinite: the rate never falls.
  if (rest <= 0.0) return {LrSchedule::Decay::kConstant, peak, warmup, steps};
  const double stretch = 1.0 / rest;
  return {LrSchedule::Decay::kLinear, peak, static_cast<std::int64_t>(static_cast<double>(warmup) * stretch),
          static_cast<std::int64_t>(static_cast<double>(steps) * stretch)};
}

}  // namespace inlier
