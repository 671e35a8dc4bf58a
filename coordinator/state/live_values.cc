#include "coordinator/state/live_values.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

constexpr std::string_view kSweepMeasurements[] = {"loss", "perplexity", "accuracy", "max_inf_norm",
                                                   "avg_kurtosis"};

}  // namespace

std::string SettingText(std::uint32_t weight_bits, std::uint32_t activation_bits) {
  std::string text;
  if (weight_bits > 0) absl::StrAppend(&text, "W", weight_bits);
  if (activation_bits > 0) absl::StrAppend(&text, "A", activation_bits);
  return text.empty() ? "FLOAT" : text;
}

double BetterOf(Better better, double a, double b) {
  return better == Better::kHigher ? std::fmax(a, b) : std::fmin(a, b);
}

void LatestPoints::Take(const MeasurementInfo& info, std::uint64_t step, double value) {
  const auto at =
      std::ranges::find_if(points_, [&info](const LatestPoint& point) { return point.info >= &info; });
  if (at == points_.end() || at->info != &info) {
    points_.insert(at, {&info, step, value});
  } else {
    *at = {&info, step, value};
  }
}

bool SweepValues::Has(const MeasurementInfo& info) {
  return std::find(std::begin(kSweepMeasurements), std::end(kSweepMeasurements), info.name) !=
         std::end(kSweepMeasurements);
}

void SweepValues::Take(const MeasurementInfo& info, const std::string& setting, double value) {
  auto at = std::ranges::find_if(
      values_, [&](const SweepValue& known) { return known.name == info.name && known.setting == setting; });
  if (at == values_.end()) {
    if (values_.size() >= kSettingsMax * std::size(kSweepMeasurements)) return;
    at = values_.insert(
        at, {std::string(info.name), info.better, setting, std::numeric_limits<double>::quiet_NaN(), value});
  }
  at->latest = value;
  at->best = BetterOf(info.better, at->best, value);
}

}  // namespace inlier
