// Names and conditions by which tables and figures pick points: axes with their labels, columns of the view `trials`.
//
// Thread safety: none.
#ifndef INLIER_SPEC_SWEEP_POINT_NAMES_H_
#define INLIER_SPEC_SWEEP_POINT_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "google/protobuf/struct.pb.h"
#include "spec/schema/problems.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

class PointNames {
 public:
  // `grid` must outlive it.
  explicit PointNames(const SweepGrid& grid);

  // Adds a problem under `path` where `name` is neither an axis nor a column.
  void CheckName(const std::string& name, const std::string& path, Problems* problems) const;
  // The same for every name of a condition, and for labels that their axis lacks.
  void CheckWhere(const google::protobuf::Map<std::string, google::protobuf::Value>& where,
                  const std::string& prefix, Problems* problems) const;

 private:
  void CheckLabel(const AxisInfo& axis, const google::protobuf::Value& value, const std::string& path,
                  Problems* problems) const;

  const SweepGrid& grid_;
  std::vector<std::string> names_;
  mutable std::map<std::string, LabelFinder> finders_;  // By axis; made when needed.
};

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_POINT_NAMES_H_
