#include "spec/sweep/point_labels.h"

#include <map>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

std::string LastWord(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::string NameOf(const v1::Axis& axis) {
  if (axis.has_name()) return axis.name();
  if (axis.has_field()) return LastWord(axis.field());
  std::string name;
  for (const std::string& path : axis.zip()) absl::StrAppend(&name, name.empty() ? "" : "+", LastWord(path));
  return name;
}

}  // namespace

std::string LabelsText(const PointLabels& labels) {
  std::string text;
  for (const auto& [axis, label] : labels) {
    if (!label.empty()) absl::StrAppend(&text, text.empty() ? "" : ", ", axis, "=", label);
  }
  return text;
}

std::string LabelsText(const google::protobuf::Map<std::string, std::string>& labels,
                       const std::vector<std::string>& axes) {
  std::map<std::string, std::string> rest(labels.begin(), labels.end());
  PointLabels ordered;
  for (const std::string& axis : axes) {
    const auto at = rest.find(axis);
    if (at == rest.end()) continue;
    ordered.emplace_back(*at);
    rest.erase(at);
  }
  ordered.insert(ordered.end(), rest.begin(), rest.end());
  return LabelsText(ordered);
}

std::vector<std::string> AxisNames(const v1::SweepSpec& sweep) {
  std::vector<std::string> names;
  for (const v1::Axis& axis : sweep.axes()) names.push_back(NameOf(axis));
  return names;
}

}  // namespace inlier
