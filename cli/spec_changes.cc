#include "cli/spec_changes.h"

#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "nlohmann/json.hpp"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<std::pair<std::string, std::string>>;  // Path and value.

constexpr std::size_t kValueMax = 120;  // Bytes of a value that are shown.

std::string Short(const std::string& value) {
  if (value.size() <= kValueMax) return value;
  return absl::StrCat(std::string(CutUtf8(value, kValueMax)), "…");
}

// The name of an item of a list, by which it is compared; its number when it has none.
std::string NameOf(const Json& item, std::size_t index) {
  for (const char* key : {"name", "label"}) {
    if (item.is_object() && item.contains(key) && item[key].is_string()) return item[key].get<std::string>();
  }
  return absl::StrCat(index);
}

void Flatten(const Json& value, const std::string& path, Fields* fields) {
  const auto below = [&path](const std::string& word) {
    return path.empty() ? word : absl::StrCat(path, ".", word);
  };
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, item] : value.items()) Flatten(item, below(key), fields);
  } else if (value.is_array() && !value.empty() && value[0].is_object()) {
    for (std::size_t i = 0; i < value.size(); ++i) Flatten(value[i], below(NameOf(value[i], i)), fields);
  } else {
    fields->emplace_back(path, value.dump());
  }
}

Fields FieldsOf(v1::SweepSpec spec) {
  if (spec.has_program()) spec.mutable_program()->clear_source();  // Kept once, and not with the sweep.
  const std::vector<std::string> names = AxisNames(spec);
  for (std::size_t i = 0; i < names.size(); ++i) spec.mutable_axes(static_cast<int>(i))->set_name(names[i]);
  Fields fields;
  Flatten(Json::parse(SpecToJson(spec)), "", &fields);
  return fields;
}

}  // namespace

std::vector<std::string> SpecChanges(const v1::SweepSpec& before, const v1::SweepSpec& after) {
  const Fields old_fields = FieldsOf(before), new_fields = FieldsOf(after);
  const std::map<std::string, std::string> old_values(old_fields.begin(), old_fields.end());
  const std::map<std::string, std::string> new_values(new_fields.begin(), new_fields.end());
  std::vector<std::string> changes;
  for (const auto& [path, value] : old_fields) {
    const auto now = new_values.find(path);
    if (now == new_values.end() || now->second != value)
      changes.push_back(absl::StrCat(path, ": ", Short(value), " -> ",
                                     now == new_values.end() ? "default" : Short(now->second)));
  }
  for (const auto& [path, value] : new_fields) {
    if (!old_values.contains(path)) changes.push_back(absl::StrCat(path, ": default -> ", Short(value)));
  }
  return changes;
}

}  // namespace inlier
