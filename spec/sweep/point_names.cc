#include "spec/sweep/point_names.h"

#include <algorithm>

#include "base/sorted_map.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/struct_value.h"

namespace inlier {

using google::protobuf::Value;

PointNames::PointNames(const SweepGrid& grid) : grid_(grid) {
  for (const AxisInfo& axis : grid.axes()) names_.push_back(axis.name);
  for (const SpecColumn& column : grid.form().columns()) names_.push_back(column.name);
}

void PointNames::CheckName(const std::string& name, const std::string& path, Problems* problems) const {
  if (std::ranges::find(names_, name) != names_.end()) return;
  problems->Add(path, Quoted(name) + " is neither an axis of this sweep nor a column of trials" +
                          DidYouMean(name, names_));
}

void PointNames::CheckWhere(const google::protobuf::Map<std::string, Value>& where, const std::string& prefix,
                            Problems* problems) const {
  for (const auto& [name, value] : Sorted(where)) {
    const std::string path = prefix + "." + name;
    CheckName(name, path, problems);
    for (const AxisInfo& axis : grid_.axes()) {
      if (axis.name != name) continue;
      if (value.kind_case() != Value::kListValue) {
        CheckLabel(axis, value, path, problems);
        continue;
      }
      for (int i = 0; i < value.list_value().values_size(); ++i) {
        CheckLabel(axis, value.list_value().values(i), ItemPath(path, i), problems);
      }
    }
  }
}

void PointNames::CheckLabel(const AxisInfo& axis, const Value& value, const std::string& path,
                            Problems* problems) const {
  if (!axis.range.empty()) return;  // Any number between its ends.
  const std::string text = ValueText(value);
  if (text.empty() || finders_.try_emplace(axis.name, axis.labels).first->second.Find(text)) return;
  problems->Add(path, Quoted(text) + " is not a label of axis " + axis.name + DidYouMean(text, axis.labels));
}

}  // namespace inlier
