#include "spec/sweep/point_labels.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

constexpr std::size_t kPointNameMax = 100;

std::string LastWord(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// {"axis":"label",...} without escapes, as LabelsJson writes nearly all of them; false for anything else.
bool PlainLabels(const std::string& json, PointLabels& labels) {
  const std::vector<absl::string_view> parts = absl::StrSplit(json, '"');
  for (std::size_t i = 1; i + 3 < parts.size(); i += 4) {
    if (parts[i - 1] != (i == 1 ? "{" : ",") || parts[i + 1] != ":") return false;
    labels.emplace_back(parts[i], parts[i + 2]);
  }
  return parts.size() % 4 == 1 && parts.back() == "}" && !absl::StrContains(json, '\\');
}

}  // namespace

std::string NameProblem(const std::string& name) {
  if (name.empty()) return "is empty; give a short text";
  if (name.size() > kPointNameMax)
    return "has more than " + std::to_string(kPointNameMax) + " bytes; give a short text";
  if (!IsUtf8(name)) return "is not UTF-8; save it as UTF-8";
  const bool control =
      std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return control ? "has a control character; remove it" : "";
}

std::string NameOf(const v1::Axis& axis) {
  if (axis.has_name()) return axis.name();
  if (axis.has_field()) return LastWord(axis.field());
  std::string name;
  for (const std::string& path : axis.zip()) absl::StrAppend(&name, name.empty() ? "" : "+", LastWord(path));
  return name;
}

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

std::string LabelsJson(const PointLabels& labels) {
  const auto append = [](std::string* out, const auto& label) {
    absl::StrAppend(out, JsonString(label.first), ":", JsonString(label.second));
  };
  return absl::StrCat("{", absl::StrJoin(labels, ",", append), "}");
}

PointLabels LabelsFromJson(const std::string& json) {
  PointLabels labels;
  if (PlainLabels(json, labels)) return labels;
  labels.clear();
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return labels;
  for (const auto& [axis, label] : parsed.items()) {
    if (label.is_string()) labels.emplace_back(axis, label.get<std::string>());
  }
  return labels;
}

std::vector<std::string> AxisNames(const v1::SweepSpec& sweep) {
  std::vector<std::string> names;
  for (const v1::Axis& axis : sweep.axes()) names.push_back(NameOf(axis));
  return names;
}

}  // namespace inlier
