#include "cli/terminal/time_left.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

// Half of a new estimate is taken over after this share of the time left, in seconds within these bounds, and after no more
// than this share of the time since the first estimate, which may have been a poor one.
constexpr double kMemoryShare = 0.05;
constexpr double kMemorySecondsMin = 10;
constexpr double kMemorySecondsMax = 120;
constexpr double kHistoryShare = 0.25;
constexpr double kHistorySecondsMin = 20;

}  // namespace

void TimeLeft::Observe(std::optional<double> seconds, Timestamp now) {
  if (!seconds || !std::isfinite(*seconds)) {
    end_.reset();
    return;
  }
  const double left = std::max(0.0, *seconds);
  if (!end_) {
    end_ = now + FromSeconds(left);
    first_ = now;
  } else {
    const double before = ToSeconds(*end_ - now);
    const double most =
        std::clamp(kHistoryShare * ToSeconds(now - first_), kHistorySecondsMin, kMemorySecondsMax);
    const double memory = std::clamp(kMemoryShare * before, kMemorySecondsMin, most);
    const double weight = 1 - std::exp2(-ToSeconds(now - observed_) / memory);
    end_ = now + FromSeconds(std::max(0.0, before + weight * (left - before)));
  }
  observed_ = now;
}

std::optional<double> TimeLeft::Seconds(Timestamp now) const {
  if (!end_) return std::nullopt;
  return std::max(0.0, ToSeconds(*end_ - now));
}

std::string TimeLeft::Text(Timestamp now) const {
  const std::optional<double> left = Seconds(now);
  if (!left) return "";
  const std::string text = RoundedDuration(*left);
  return absl::StrCat(*left < 60 ? "" : "about ", text, " left");
}

std::string RoundedDuration(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < kMinute) return "less than a minute";
  const auto whole = [](double value) { return static_cast<std::int64_t>(std::llround(value)); };
  if (seconds < 99.5 * kMinute) {
    const std::int64_t minutes = whole(seconds / kMinute);
    return absl::StrCat(minutes < 20 ? minutes : whole(static_cast<double>(minutes) / 5) * 5, " min");
  }
  if (seconds < kDay) {
    const std::int64_t tens = whole(seconds / (10 * kMinute));
    const std::int64_t minutes = tens % 6 * 10;
    return absl::StrCat(tens / 6, " h", minutes == 0 || tens >= 60 ? "" : absl::StrCat(" ", minutes, " min"));
  }
  const std::int64_t hours = whole(seconds / kHour);
  const std::int64_t days = hours / 24;
  return absl::StrCat(days, days == 1 ? " day" : " days",
                      hours % 24 == 0 || days >= 10 ? "" : absl::StrCat(" ", hours % 24, " h"));
}

}  // namespace inlier
