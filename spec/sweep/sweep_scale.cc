#include "spec/sweep/sweep_scale.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/plain_name.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/label_finder.h"

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

std::string ItemPath(const std::string& prefix, const char* list, int index) {
  return JoinPath(prefix, std::string(list) + "[" + std::to_string(index) + "]");
}

bool RemovesAxis(const v1::Axis& axis) {
  return axis.values().empty() && axis.variants().empty() && axis.zip().empty() && !axis.has_range();
}

// True when `path` is `parent` or below it.
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
    merged.emplace_back(sweep.axes(i), ItemPath("", "axes", i));
    names.push_back(EffectiveName(sweep.axes(i)));
  }
  const std::vector<std::string> known = names;
  for (int i = 0; i < scale.axes_size(); ++i) {
    const v1::Axis& axis = scale.axes(i);
    const std::string path = ItemPath(prefix, "axes", i);
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

// The labels of an axis with one value or variant a label; nothing for zip.
std::vector<std::string> LabelsOf(const v1::Axis& axis) {
  std::vector<std::string> labels;
  for (const v1::Variant& variant : axis.variants()) labels.push_back(variant.label());
  if (axis.has_field()) {
    for (const auto& value : axis.values()) labels.push_back(ValueText(value));
  }
  return labels;
}

// Takes from a condition the labels that the axis no longer has; false when none is left. "" is where the
// axis does not apply, and is no label.
bool KeepLabels(const std::vector<std::string>& labels, google::protobuf::Value* wanted) {
  const LabelFinder finder(labels);
  const auto is_there = [&finder](const google::protobuf::Value& value) {
    const std::string label = ValueText(value);
    return label.empty() || finder.Find(label);
  };
  if (wanted->kind_case() != google::protobuf::Value::kListValue) return is_there(*wanted);
  auto& values = *wanted->mutable_list_value()->mutable_values();
  values.erase(
      std::remove_if(values.begin(), values.end(), [&](const auto& value) { return !is_there(value); }),
      values.end());
  return !values.empty();
}

// True when an exclusion of the sweep still leaves out something at a scale that has none of its own; labels
// that the scale took away are taken from it.
bool StillExcludes(const v1::SweepScale& scale, v1::Exclusion* exclusion) {
  auto& match = *exclusion->mutable_match();
  return std::all_of(scale.axes().begin(), scale.axes().end(), [&](const v1::Axis& axis) {
    const auto wanted = match.find(EffectiveName(axis));
    return wanted == match.end() || axis.zip_size() > 0 || KeepLabels(LabelsOf(axis), &wanted->second);
  });
}

// The exclusions that hold at the scale, and where each comes from.
std::vector<std::pair<v1::Exclusion, std::string>> MergeExclusions(const v1::SweepSpec& sweep,
                                                                   const v1::SweepScale& scale,
                                                                   const std::string& prefix) {
  std::vector<std::pair<v1::Exclusion, std::string>> merged;
  for (int i = 0; i < scale.exclude_size(); ++i)
    merged.emplace_back(scale.exclude(i), ItemPath(prefix, "exclude", i));
  if (!merged.empty()) return merged;
  for (int i = 0; i < sweep.exclude_size(); ++i) {
    v1::Exclusion exclusion = sweep.exclude(i);
    if (StillExcludes(scale, &exclusion))
      merged.emplace_back(std::move(exclusion), ItemPath("", "exclude", i));
  }
  return merged;
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
  if (IsWithin(path, "table")) return has_table_ ? scaled : path;
  if (IsWithin(path, "figures")) return has_figures_ ? scaled : path;
  if (IsWithin(path, "pruning")) return has_pruning_ ? scaled : path;
  if (IsWithin(path, "sampling")) return has_sampling_ ? scaled : path;
  const auto item_of = [&path](const char* list, const std::vector<std::string>& origins) {
    for (std::size_t i = 0; i < origins.size(); ++i) {
      const std::string item = ItemPath("", list, static_cast<int>(i));
      if (IsWithin(path, item)) return origins[i] + path.substr(item.size());
    }
    return std::string();
  };
  std::string item = item_of("axes", axes_);
  if (item.empty()) item = item_of("exclude", exclude_);
  return item.empty() ? path : item;
}

ScaleOrigins ApplyScale(const std::string& name, v1::SweepSpec* sweep, Problems* problems) {
  ScaleOrigins origins;
  const std::vector<std::string> names = ScaleNames(*sweep);
  for (const std::string& scale : names) {
    if (!IsPlainName(scale))
      problems->Add("scales", absl::StrCat(Quoted(absl::CEscape(scale)),
                                           " is no name of a scale: such a name has ", kPlainNameForm));
  }
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
  auto exclusions = MergeExclusions(*sweep, scale, origins.prefix_);
  auto axes = MergeAxes(*sweep, scale, origins.prefix_, problems);
  sweep->clear_exclude();
  for (auto& [exclusion, origin] : exclusions) {
    *sweep->add_exclude() = std::move(exclusion);
    origins.exclude_.push_back(std::move(origin));
  }
  sweep->clear_axes();
  for (auto& [axis, origin] : axes) {
    *sweep->add_axes() = std::move(axis);
    origins.axes_.push_back(std::move(origin));
  }
  if (scale.has_sampling()) *sweep->mutable_sampling() = scale.sampling();
  origins.has_sampling_ = scale.has_sampling();
  if (scale.has_pruning()) *sweep->mutable_pruning() = scale.pruning();
  origins.has_pruning_ = scale.has_pruning();
  if (scale.has_table()) *sweep->mutable_table() = scale.table();
  origins.has_table_ = scale.has_table();
  if (scale.figures_size() > 0) *sweep->mutable_figures() = scale.figures();
  origins.has_figures_ = scale.figures_size() > 0;
  if (scale.has_description()) sweep->set_description(scale.description());
  if (sweep->has_name()) sweep->set_name(sweep->name() + "-" + name);
  return origins;
}

}  // namespace inlier
