#include "results/figures/figure_ends.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

constexpr double kMargin = 0.06;     // Of the range.
constexpr double kSameShare = 1e-9;  // Numbers that differ by less are one.
constexpr std::size_t kTicsMax = 20;

}  // namespace

void Ends::Add(double value) {
  if (std::isnan(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Ends Ends::WithMargin(bool logarithmic) const {
  if (low > high) return {0, 1};
  const bool same = high - low <= kSameShare * std::max(std::abs(low), std::abs(high));
  if (logarithmic) {
    const double factor = same ? 2 : std::pow(high / low, kMargin);
    return {low / factor, high * factor};
  }
  const double margin = same ? std::max(std::abs(low) / 2, kSameShare) : (high - low) * kMargin;
  return {low - margin, high + margin};
}

std::vector<double> Ends::LogTics() const {
  std::vector<double> tics;
  if (!(low > 0) || high / low > 100) return tics;
  const std::vector<double> steps = high / low > 10  ? std::vector<double>{1, 2, 5}
                                    : high / low > 3 ? std::vector<double>{1, 1.5, 2, 3, 4, 5, 7}
                                                     : std::vector<double>();
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10, power) <= high; ++power) {
    for (const double step : steps) {
      // Read back from its text: 3e-05, not 3.0000000000000004e-05.
      const std::optional<double> tic = ParseNumber(absl::StrCat(step, "e", power));
      if (tic && *tic >= low && *tic <= high) tics.push_back(*tic);
    }
  }
  if (!tics.empty()) return tics;
  const double size = std::pow(10, std::floor(std::log10((high - low) / 3)));
  const double part = (high - low) / 3 / size;
  const double step = size * (part < 2 ? 1 : part < 5 ? 2 : 5);
  for (double tic = std::ceil(low / step) * step; tic <= high && tics.size() < kTicsMax; tic += step)
    tics.push_back(tic);
  return tics;
}

Ends XEnds(const Figure& figure) {
  Ends ends;
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) ends.Add(point.x);
  }
  return ends.WithMargin(figure.log_x);
}

Ends YEnds(const Figure& figure) {
  Ends ends;
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      const auto [low, high] = Spread(point.y, figure.log_y);
      ends.Add(low);
      ends.Add(high);
    }
  }
  return ends.WithMargin(figure.log_y);
}

std::pair<double, double> Spread(const Summary& y, bool logarithmic) {
  if (std::isnan(y.std)) return {y.mean, y.mean};
  const double low = y.mean - y.std;
  return {logarithmic && low <= 0 ? y.min : low, y.mean + y.std};
}

std::size_t RoundStep(std::size_t size) {
  std::size_t step = 1;
  while (step * 10 * 10 <= size) step *= 10;
  return step * (size < step * 20 ? 2 : size < step * 50 ? 5 : 10);
}

absl::Status CheckLogarithm(const char* axis, const std::string& name, double value) {
  if (value > 0 || std::isnan(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("log_", axis, ": ", name, " has ", FormatNumber(value),
                                                 ", which has no logarithm; leave log_", axis, " out"));
}

}  // namespace inlier
