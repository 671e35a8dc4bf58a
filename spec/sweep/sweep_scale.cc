#include "spec/sweep/sweep_scale.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"
#include "spec/schema/plain_name.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/point_labels.h"
#include "spec/sweep/sampling.h"

namespace inlier {
namespace {

bool RemovesAxis(const v1::Axis& axis) {
  return axis.values().empty() && axis.variants().empty() && axis.zip().empty() && !axis.has_range() &&
         !axis.has_normal();
}

// True when `path` is `parent` or below it.
bool IsWithin(const std::string& path, const std::string& parent) {
  return path.starts_with(parent) &&
         (path.size() == parent.size() || path[parent.size()] == '.' || path[parent.size()] == '[');
}

// The sweep's axes with those of the scale in their places, and where each comes from.
std::vector<std::pair<v1::Axis, std::string>> MergeAxes(const v1::SweepSpec& sweep,
                                                        const v1::SweepScale& scale,
                                                        const std::string& prefix, Problems* problems) {
  std::vector<std::pair<v1::Axis, std::string>> merged;
  std::vector<std::string> names;
  for (int i = 0; i < sweep.axes_size(); ++i) {
    merged.emplace_back(sweep.axes(i), ItemPath("axes", i));
    names.push_back(NameOf(sweep.axes(i)));
  }
  const std::vector<std::string> known = names;
  for (int i = 0; i < scale.axes_size(); ++i) {
    const v1::Axis& axis = scale.axes(i);
    const std::string path = ItemPath(JoinPath(prefix, "axes"), i);
    const std::string name = NameOf(axis);
    const auto place = std::ranges::find(names, name);
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

// The labels of an axis with values, variants or steps; none for zip.
std::vector<std::string> LabelsOf(const v1::Axis& axis) {
  std::vector<std::string> labels;
  for (const v1::Variant& variant : axis.variants()) labels.push_back(variant.label());
  if (axis.has_field()) {
    for (const auto& value : axis.values()) labels.push_back(ValueText(value));
    if (axis.range().has_step() && RangeSpecProblem(axis.range(), /*whole=*/false).empty()) {
      const SampleRange range(axis.range(), /*whole=*/false);
      for (std::uint32_t i = 0; i < range.steps(); ++i) labels.push_back(FormatNumber(range.Step(i)));
    }
  }
  return labels;
}

// Removes missing labels from a condition; false when none is left. "" stands for where the axis does not apply.
bool KeepLabels(const std::vector<std::string>& labels, google::protobuf::Value* wanted) {
  const LabelFinder finder(labels);
  const auto is_there = [&finder](const google::protobuf::Value& value) {
    const std::string label = ValueText(value);
    return label.empty() || finder.Find(label);
  };
  if (wanted->kind_case() != google::protobuf::Value::kListValue) return is_there(*wanted);
  auto& values = *wanted->mutable_list_value()->mutable_values();
  values.erase(std::remove_if(values.begin(), values.end(), std::not_fn(is_there)), values.end());
  return !values.empty();
}

// True when an exclusion of the sweep still leaves out something at the scale, without the labels that it removed.
bool StillExcludes(const v1::SweepScale& scale, v1::Exclusion* exclusion) {
  auto& match = *exclusion->mutable_match();
  return std::ranges::all_of(scale.axes(), [&](const v1::Axis& axis) {
    const auto wanted = match.find(NameOf(axis));
    return wanted == match.end() || axis.zip_size() > 0 || KeepLabels(LabelsOf(axis), &wanted->second);
  });
}

// The exclusions that hold at the scale, and where each comes from.
std::vector<std::pair<v1::Exclusion, std::string>> MergeExclusions(const v1::SweepSpec& sweep,
                                                                   const v1::SweepScale& scale,
                                                                   const std::string& prefix) {
  std::vector<std::pair<v1::Exclusion, std::string>> merged;
  for (int i = 0; i < scale.exclude_size(); ++i)
    merged.emplace_back(scale.exclude(i), ItemPath(JoinPath(prefix, "exclude"), i));
  if (!merged.empty()) return merged;
  for (int i = 0; i < sweep.exclude_size(); ++i) {
    v1::Exclusion exclusion = sweep.exclude(i);
    if (StillExcludes(scale, &exclusion)) merged.emplace_back(std::move(exclusion), ItemPath("exclude", i));
  }
  return merged;
}

}  // namespace

std::vector<std::string> ScaleNames(const v1::SweepSpec& sweep) {
  std::vector<std::string> names;
  for (const auto& [name, scale] : sweep.scales()) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::string ScaleOrigins::PathInDocument(const std::string& path, const KnownDepth& known_depth) const {
  if (prefix_.empty()) return path;
  const std::string scaled = JoinPath(prefix_, path);
  if (IsWithin(path, "base")) {
    const int words_before = static_cast<int>(std::ranges::count(prefix_, '.')) + 1;
    return known_depth(scaled) - words_before >= known_depth(path) ? scaled : path;
  }
  if (replaced_.contains(path.substr(0, path.find_first_of(".[")))) return scaled;
  const auto item_of = [&path](const char* list, const std::vector<std::string>& origins) {
    for (std::size_t i = 0; i < origins.size(); ++i) {
      const std::string item = ItemPath(list, i);
      if (IsWithin(path, item)) return origins[i] + path.substr(item.size());
    }
    return std::string();
  };
  std::string item = item_of("axes", axes_);
  if (item.empty()) item = item_of("exclude", exclude_);
  return item.empty() ? path : item;
}

ScaleOrigins ApplyScale(const std::string& name, const TrialForm& form, v1::SweepSpec* sweep,
                        Problems* problems) {
  ScaleOrigins origins;
  const std::vector<std::string> names = ScaleNames(*sweep);
  for (const std::string& scale : names) {
    if (!IsPlainName(scale))
      problems->Add("scales", absl::StrCat(Quoted(absl::CEscape(scale)),
                                           " cannot name a scale: such a name has ", kPlainNameForm));
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
  if (scale.has_base()) {
    const std::unique_ptr<google::protobuf::Message> base = form.Read(sweep->base(), problems);
    ApplyStruct(scale.base(), JoinPath(origins.prefix_, "base"), base.get(), problems);
    sweep->clear_base();
    form.Write(*base, sweep->mutable_base());
  }
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
  if (scale.has_pruning()) *sweep->mutable_pruning() = scale.pruning();
  if (scale.has_table()) *sweep->mutable_table() = scale.table();
  if (scale.figures_size() > 0) *sweep->mutable_figures() = scale.figures();
  for (const auto& [field, has] :
       {std::pair("sampling", scale.has_sampling()), std::pair("pruning", scale.has_pruning()),
        std::pair("table", scale.has_table()), std::pair("figures", scale.figures_size() > 0)}) {
    if (has) origins.replaced_.insert(field);
  }
  if (scale.has_description()) sweep->set_description(scale.description());
  if (sweep->has_name()) sweep->set_name(sweep->name() + "-" + name);
  return origins;
}

}  // namespace inlier
