// The labels of a point as people see them, in every place the same: "method=clipped gamma, seed=1".
#ifndef INLIER_SPEC_SWEEP_POINT_LABELS_H_
#define INLIER_SPEC_SWEEP_POINT_LABELS_H_

#include <string>
#include <vector>

#include "google/protobuf/map.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// In the order given, without those of axes that do not apply; "" when none is left.
std::string LabelsText(const PointLabels& labels);

// The same for labels of a message, which have no order: in the order of `axes`, any others by name after them.
std::string LabelsText(const google::protobuf::Map<std::string, std::string>& labels,
                       const std::vector<std::string>& axes);

// The names of the sweep's axes, in the order of its file.
std::vector<std::string> AxisNames(const v1::SweepSpec& sweep);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_POINT_LABELS_H_
