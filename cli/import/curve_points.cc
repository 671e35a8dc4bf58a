#include "cli/import/curve_points.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "spec/schema/limits.h"

namespace inlier {
namespace {

std::uint64_t NumbersOf(const std::vector<ForeignRun>& runs, std::size_t points) {
  std::uint64_t numbers = 0;
  for (const ForeignRun& run : runs) {
    numbers += run.results.size();
    for (const auto& [name, curve] : run.curves) numbers += std::min(curve.size(), points);
  }
  return numbers;
}

}  // namespace

void Tidy(ForeignCurve& curve) {
  const auto step = [](const auto& point) { return point.first; };
  std::ranges::stable_sort(curve, {}, step);
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  curve.erase(curve.begin(), std::unique(curve.rbegin(), curve.rend(), same).base());
}

ForeignCurve Thinned(const ForeignCurve& curve, std::size_t points) {
  if (curve.size() <= points) return curve;
  ForeignCurve thinned;
  for (std::size_t i = 0; i < points; ++i)
    thinned.push_back(curve[points == 1 ? curve.size() - 1 : i * (curve.size() - 1) / (points - 1)]);
  return thinned;
}

absl::StatusOr<std::size_t> PointsOfACurve(const std::vector<ForeignRun>& runs, std::size_t wanted,
                                           std::vector<std::string>& remarks) {
  if (wanted == 0) return absl::InvalidArgumentError("--points 0: a curve keeps 1 point or more");
  std::size_t points = wanted;
  while (points > 2 && NumbersOf(runs, points) > Limits::kImportedNumbersMax)
    points -= std::max<std::size_t>(1, points / 20);
  if (const std::uint64_t numbers = NumbersOf(runs, points); numbers > Limits::kImportedNumbersMax)
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", numbers, " numbers, even with ", points, " points of each curve; an import holds ",
        Limits::kImportedNumbersMax, ": leave names out with --ignore, or import parts"));
  std::size_t thinned = 0, longest = 0;
  for (const ForeignRun& run : runs) {
    for (const auto& [name, curve] : run.curves) {
      thinned += curve.size() > points;
      longest = std::max(longest, curve.size());
    }
  }
  if (thinned > 0)
    remarks.push_back(absl::StrCat(thinned, thinned == 1 ? " curve is" : " curves are", " thinned to ",
                                   points, " points, of up to ", longest));
  return points;
}

}  // namespace inlier
