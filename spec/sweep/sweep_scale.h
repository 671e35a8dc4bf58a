// `--scale small`: another size of a sweep, kept in the same file.
//
// The settings of a scale (SweepSpec.scales) override those of the sweep. A problem in the merged sweep is reported at
// its origin, in the sweep or in the scale.
//
// Thread safety: pure functions and a value.
#ifndef INLIER_SPEC_SWEEP_SWEEP_SCALE_H_
#define INLIER_SPEC_SWEEP_SWEEP_SCALE_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/program/trial_form.h"
#include "spec/schema/problems.h"

namespace inlier {

// Sorted.
std::vector<std::string> ScaleNames(const v1::SweepSpec& sweep);

// From paths of a merged sweep to those of the document that it was written in.
class ScaleOrigins {
 public:
  // How many words of a path the document has: "base.training.steps" -> 2 when it has base.training alone.
  using KnownDepth = std::function<int(const std::string& path)>;

  // "axes[1].values[0]" -> "scales.small.axes[0].values[0]". For the base, the place with more of the path.
  std::string PathInDocument(const std::string& path, const KnownDepth& known_depth) const;

 private:
  friend ScaleOrigins ApplyScale(const std::string&, const TrialForm&, v1::SweepSpec*, Problems*);

  std::string prefix_;  // "scales.small"; empty when nothing was applied.
  // Of each axis and exclusion of the merged sweep: "axes[2]", "scales.small.axes[0]".
  std::vector<std::string> axes_;
  std::vector<std::string> exclude_;
  std::set<std::string>
      replaced_;  // Other fields that the scale has: "table", "figures", "sampling", "pruning".
};

// Merges the scale `name` into `sweep` and appends it to the sweep's name ("demo-small"); an empty name merges nothing.
// Drops the scales themselves. Where the scale has no exclusions, those of the sweep stay as far as their labels exist.
// `form` is the sweep's. An unknown scale, an invalid `base` and the removal of an unknown axis go to `problems`.
ScaleOrigins ApplyScale(const std::string& name, const TrialForm& form, v1::SweepSpec* sweep,
                        Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_SWEEP_SCALE_H_
