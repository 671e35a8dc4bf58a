#include "core/optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace inlier {

double LrSchedule::At(std::int64_t k) const {
  INLIER_CHECK(k >= 0);
  if (k < warmup) return peak * static_cast<double>(k) / static_cast<double>(warmup);
  switch (decay) {
    case Decay::kConstant:
      return peak;
    case Decay::kLinear: {
      const double left = static_cast<double>(std::max<std::int64_t>(0, total - k));
      return peak * (left / static_cast<double>(std::max<std::int64_t>(1, total - warmup)));
    }
    case Decay::kCosine: {
      const double done =
          static_cast<double>(k - warmup) / static_cast<double>(std::max<std::int64_t>(1, total - warmup));
      const double factor = std::max(0.0, 0.5 * (1 + std::cos(std::numbers::pi * done)));
      return peak * (factor * (1 - final_fraction) + final_fraction);
    }
  }
  INLIER_CHECK(false);
}

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
