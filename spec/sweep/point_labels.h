// The labels of a point as text, in every place the same: "method=clipped gamma, seed=1".
#ifndef INLIER_SPEC_SWEEP_POINT_LABELS_H_
#define INLIER_SPEC_SWEEP_POINT_LABELS_H_

#include <string>
#include <vector>

#include "google/protobuf/map.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// In the order given, without axes that do not apply; "" when none is left.
std::string LabelsText(const PointLabels& labels);

// The same for the unordered labels of a message: in the order of `axes`, then others by name.
std::string LabelsText(const google::protobuf::Map<std::string, std::string>& labels,
                       const std::vector<std::string>& axes);

// {"gamma": "-0.03"} as the store keeps labels.
std::string LabelsJson(const PointLabels& labels);
// The inverse; empty when `json` is not an object of strings.
PointLabels LabelsFromJson(const std::string& json);

// "" for a name or label that tables can show: some characters, none of them for control.
std::string NameProblem(const std::string& name);

// The name of an axis as the grid has it: its own, or the last words of its paths.
std::string NameOf(const v1::Axis& axis);

// The names of the sweep's axes, in the order of its file.
std::vector<std::string> AxisNames(const v1::SweepSpec& sweep);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_POINT_LABELS_H_
