#include "cli/engine_check.h"

#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/trial/unfused_part.h"

namespace inlier {
namespace {

constexpr std::uint64_t kPointsCompared = 1000;

}  // namespace

std::string EngineWarning(const SweepGrid& grid) {
  if (grid.form().is_program()) return "";
  std::set<std::string> parts;  // By which points train by REFERENCE; empty: a point trains by FUSED.
  std::uint64_t points = 0;
  for (auto index = grid.NextIndex(0); index && points < kPointsCompared;
       index = grid.NextIndex(*index + 1), ++points) {
    const auto point = grid.At(*index);
    if (!point.ok()) continue;
    const bool asked = point->spec.training().engine() == v1::TrainingSpec::REFERENCE;
    parts.emplace(asked ? "training.engine" : UnfusedPart(point->spec));
  }
  if (parts.erase("") == 0 || parts.empty()) return "";
  return absl::StrCat("points train by two engines: by REFERENCE those with ", absl::StrJoin(parts, ", "),
                      ", the others by FUSED, which rounds in another order (docs/performance.md)",
                      "\n  For one numerics in every row set training.engine: REFERENCE in base");
}

}  // namespace inlier
