#include "spec/sweep/resource_checks.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "spec/trial/resolver.h"
#include "spec/trial/update_split.h"

namespace inlier {

void CheckResources(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems) {
  const v1::ResourceSpec& resources = sweep.resources();
  if (resources.has_gpus() && (resources.has_processes() || resources.has_gpu())) {
    problems->Add("resources.gpus", absl::StrCat("is in place of ", resources.has_gpu() ? "gpu" : "processes",
                                                 ": as many processes, with a whole GPU each; give one of "
                                                 "the two"));
  }
  const std::uint32_t processes =
      std::max(1u, resources.has_gpus() ? resources.gpus() : resources.processes());
  if (processes == 1) {
    if (resources.shard_optimizer()) {
      problems->Add("resources.shard_optimizer",
                    "one process has the whole state; give resources.processes or resources.gpus, or leave "
                    "it out");
    }
    return;
  }
  if (grid.form().is_program()) return;  // How it splits its updates is its own.
  int checked = 0;
  for (auto index = grid.NextIndex(0); index && checked < SweepGrid::kPointsChecked;
       index = grid.NextIndex(*index + 1), ++checked) {
    const absl::StatusOr<GridPoint> point = grid.At(*index);
    const absl::StatusOr<v1::TrialSpec> spec = point.ok() ? Resolve(point->spec) : point.status();
    if (!spec.ok()) return;  // Reported elsewhere.
    if (const absl::Status split = SplitUpdate(spec->training(), 0, processes).status(); !split.ok())
      return problems->Add(resources.has_gpus() ? "resources.gpus" : "resources.processes",
                           std::string(split.message()));
  }
}

}  // namespace inlier
