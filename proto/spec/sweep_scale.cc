#include "proto/spec/sweep_scale.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "proto/spec/did_you_mean.h"
#include "proto/spec/struct_value.h"
#include "proto/spec/utf8.h"

namespace inlier {
namespace {

std::string LastWord(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// As the grid names it.
std::string EffectiveName(const v1::Axis& axis) {
  if (axis.has_name()) return axis.name();
  if (axis.has_field()) return LastWord(axis.field());
  std::string name;
  for (const std::string& path : axis.zip()) name += (name.empty() ? "" : "+") + LastWord(path);
  return name;
}

std::string AxisPath(const std::string& prefix, int index) {
  return JoinPath(prefix, "axes[" + std::to_string(index) + "]");
}

bool RemovesAxis(const v1::Axis& axis) {
  return axis.values().empty() && axis.variants().empty() && axis.zip().empty();
}

// Whether `path` is `parent` or below it.
bool IsWithin(const std::string& path, const std::string& parent) {
  return path.compare(0, parent.size(), parent) == 0 &&
         (path.size() == parent.size() || path[parent.size()] == '.' || path[parent.size()] == '[');
}

// The sweep's axes with those of the scale in their places, and where each comes from.
std::vector<std::pair<v1::Axis, std::string>> MergeAxes(const v1::SweepSpec& sweep,
                                                        const v1::SweepScale& scale,
                                                        const std::string& prefix, Problems* problems) {
  std::vector<std::pair<v1::Axis, std::string>> merged;
  std::vector<std::string> names;
  for (int i = 0; i < sweep.axes_size(); ++i) {
    merged.emplace_back(sweep.axes(i), AxisPath("", i));
    names.push_back(EffectiveName(sweep.axes(i)));
  }
  const std::vector<std::string> known = names;
  for (int i = 0; i < scale.axes_size(); ++i) {
    const v1::Axis& axis = scale.axes(i);
    const std::string path = AxisPath(prefix, i);
    const std::string name = EffectiveName(axis);
    const auto place = std::find(names.begin(), names.end(), name);
    const auto at = merged.begin() + (place - names.begin());
    if (!RemovesAxis(axis)) {
      if (place != names.end()) {
        *at = {axis, path};
      } else {
        merged.emplace_back(axis, path);
        names.push_back(name);
      }
    } else if (place != names.end()) {
      merged.erase(at);
      names.erase(place);
    } else {
      problems->Add(path, name.empty() ? "names no axis; give name: or field:"
                                       : Quoted(name) + " has no values and is not an axis to remove" +
                                             DidYouMean(name, known));
    }
  }
  return merged;
}

bool IsIn(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The labels of an axis with one value or variant a label; nothing for zip.
std::vector<std::string> LabelsOf(const v1::Axis& axis) {
  std::vector<std::string> labels;
  for (const v1::Variant& variant : axis.variants()) labels.push_back(variant.label());
  if (axis.has_field()) {
    for (const auto& value : axis.values()) labels.push_back(ValueText(value));
  }
  return labels;
}

// Takes from a condition what the axis has no more; false when nothing is left.
bool KeepLabels(const std::vector<std::string>& labels, google::protobuf::Value* wanted) {
  if (wanted->kind_case() != google::protobuf::Value::kListValue) return IsIn(labels, ValueText(*wanted));
  auto& values = *wanted->mutable_list_value()->mutable_values();
  values.erase(std::remove_if(values.begin(), values.end(),
                              [&](const auto& value) { return !IsIn(labels, ValueText(value)); }),
               values.end());
  return !values.empty();
}

// The sweep's exclusions at a scale that has none of its own: without the labels and the axes that it took
// away, where they would leave out nothing.
void TrimExclusions(const v1::SweepScale& scale, v1::SweepSpec* sweep) {
  auto& exclusions = *sweep->mutable_exclude();
  exclusions.erase(std::remove_if(exclusions.begin(), exclusions.end(),
                                  [&](v1::Exclusion& exclusion) {
                                    for (const v1::Axis& axis : scale.axes()) {
                                      const auto match = exclusion.mutable_match()->find(EffectiveName(axis));
                                      if (match == exclusion.mutable_match()->end() || axis.zip_size() > 0)
                                        continue;
                                      if (!KeepLabels(LabelsOf(axis), &match->second)) return true;
                                    }
                                    return false;
                                  }),
                   exclusions.end());
}

}  // namespace

std::vector<std::string> ScaleNames(const v1::SweepSpec& sweep) {
  std::vector<std::string> names;
  for (const auto& [name, scale] : sweep.scales()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string ScaleOrigins::PathInDocument(const std::string& path, const KnownDepth& known_depth) const {
  if (prefix_.empty()) return path;
  const std::string scaled = JoinPath(prefix_, path);
  if (IsWithin(path, "base")) {
    const int words_before = static_cast<int>(std::count(prefix_.begin(), prefix_.end(), '.')) + 1;
    return known_depth(scaled) - words_before >= known_depth(path) ? scaled : path;
  }
  if (IsWithin(path, "exclude")) return has_exclude_ ? scaled : path;
  if (IsWithin(path, "table")) return has_table_ ? scaled : path;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::string axis = AxisPath("", static_cast<int>(i));
    if (IsWithin(path, axis)) return axes_[i] + path.substr(axis.size());
  }
  return path;
}

ScaleOrigins ApplyScale(const std::string& name, v1::SweepSpec* sweep, Problems* problems) {
  ScaleOrigins origins;
  const std::vector<std::string> names = ScaleNames(*sweep);
  const auto scales = std::exchange(*sweep->mutable_scales(), {});
  if (name.empty()) return origins;
  const auto found = scales.find(name);
  if (found == scales.end()) {
    problems->Add("scales", names.empty()
                                ? Quoted(name) + " is not there, for the sweep has one size only"
                                : Quoted(name) + " is not a scale of this sweep" + DidYouMean(name, names));
    return origins;
  }
  const v1::SweepScale& scale = found->second;
  origins.prefix_ = JoinPath("scales", name);
  if (scale.has_base())
    ApplyStruct(scale.base(), JoinPath(origins.prefix_, "base"), sweep->mutable_base(), problems);
  std::vector<std::pair<v1::Axis, std::string>> axes = MergeAxes(*sweep, scale, origins.prefix_, problems);
  sweep->clear_axes();
  for (auto& [axis, origin] : axes) {
    *sweep->add_axes() = std::move(axis);
    origins.axes_.push_back(std::move(origin));
  }
  if (scale.exclude_size() > 0) {
    *sweep->mutable_exclude() = scale.exclude();
  } else {
    TrimExclusions(scale, sweep);
  }
  origins.has_exclude_ = scale.exclude_size() > 0;
  if (scale.has_table()) *sweep->mutable_table() = scale.table();
  origins.has_table_ = scale.has_table();
  if (scale.has_description()) sweep->set_description(scale.description());
  if (sweep->has_name()) sweep->set_name(sweep->name() + "-" + name);
  return origins;
}

}  // namespace inlier
