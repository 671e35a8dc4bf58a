// The limits of the points of a grid whose axes are compiled: conditions, exclusions, and axes in conflict.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/patch_claims.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

using google::protobuf::Value;

namespace {

constexpr int kConflictPairsMax = 10'000;

std::string ItemPath(const std::string& list, int index) { return list + "[" + std::to_string(index) + "]"; }

}  // namespace

class SweepGrid::Conditions {
 public:
  Conditions(const v1::SweepSpec& sweep, SweepGrid& grid, Problems* problems)
      : sweep_(sweep), grid_(grid), problems_(problems) {}

  void Compile() {
    const std::size_t before = problems_->count();
    for (int i = 0; i < sweep_.axes_size(); ++i) AddWhen(i);
    for (int i = 0; i < sweep_.exclude_size(); ++i) AddExclusion(i);
    if (problems_->count() != before) return;
    ClassifyLabels();
    ComputeSize();
    CheckConflicts();
  }

 private:
  // The axis of that name or field; -1 with a problem.
  int AxisNamed(const std::string& name, const std::string& path) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < grid_.axes_.size(); ++i) {
      if (grid_.axes_[i].name == name || (grid_.axes_[i].field == name && !name.empty()))
        return static_cast<int>(i);
      names.push_back(grid_.axes_[i].name);
    }
    problems_->Add(path, Quoted(name) + " is not an axis of this sweep" + DidYouMean(name, names));
    return -1;
  }

  // The labels that `value` (one, or a list) names.
  LabelSet LabelsNamed(int axis, const Value& value, const std::string& path) {
    const AxisInfo& named = grid_.axes_[static_cast<std::size_t>(axis)];
    LabelSet set;
    set.axis = axis;
    set.labels.resize(named.labels.size());
    const auto add = [&](const Value& one, const std::string& one_path) {
      std::string text = ValueText(one);
      if (text.empty() && one.kind_case() == Value::kStringValue) {
        set.where_inactive = true;
        return;
      }
      if (!named.range.empty()) {
        problems_->Add(one_path,
                       "axis " + named.name +
                           " has a range, so its numbers cannot be named; make the range narrower, or "
                           "give values");
        return;
      }
      auto it = std::find(named.labels.begin(), named.labels.end(), text);
      if (it == named.labels.end()) {
        if (const std::optional<double> number = ParseNumber(text))
          it = std::find(named.labels.begin(), named.labels.end(), FormatNumber(*number));
      }
      if (it == named.labels.end()) {
        problems_->Add(one_path, Quoted(text) + " is not a label of axis " + named.name +
                                     DidYouMean(text, named.labels));
        return;
      }
      set.labels[static_cast<std::size_t>(it - named.labels.begin())] = true;
    };
    if (value.kind_case() != Value::kListValue) {
      add(value, path);
      return set;
    }
    if (value.list_value().values_size() == 0)
      problems_->Add(path, "is an empty list; name at least one label");
    for (int i = 0; i < value.list_value().values_size(); ++i)
      add(value.list_value().values(i), ItemPath(path, i));
    return set;
  }

  // A map's order is not defined; sorted keys make the errors the same every time.
  template <typename MapType>
  static std::map<std::string, Value> Sorted(const MapType& map) {
    return {map.begin(), map.end()};
  }

  void AddWhen(int index) {
    for (const auto& [name, value] : Sorted(sweep_.axes(index).when())) {
      const std::string path = ItemPath("axes", index) + ".when." + name;
      const int axis = AxisNamed(name, path);
      if (axis < 0) continue;
      if (axis >= index) {
        problems_->Add(path, axis == index ? "an axis cannot depend on itself; name another one"
                                           : "axis " + name + " comes later; put it before this one");
        continue;
      }
      grid_.points_[static_cast<std::size_t>(index)].when.push_back(LabelsNamed(axis, value, path));
    }
  }

  void AddExclusion(int index) {
    const std::string path = ItemPath("exclude", index);
    if (sweep_.exclude(index).match().empty()) {
      problems_->Add(path,
                     "names no axis and would leave out everything; name at least one, such as {seed: 1}");
      return;
    }
    ExclusionSets exclusion;
    for (const auto& [name, value] : Sorted(sweep_.exclude(index).match())) {
      const int axis = AxisNamed(name, path + "." + name);
      if (axis < 0) continue;
      exclusion.sets.push_back(LabelsNamed(axis, value, path + "." + name));
      exclusion.last_axis = std::max(exclusion.last_axis, axis);
    }
    grid_.exclude_.push_back(std::move(exclusion));
  }

  void ClassifyLabels() {
    for (std::size_t axis = 0; axis < grid_.points_.size(); ++axis) {
      std::vector<const LabelSet*> sets;
      const auto collect = [&](const std::vector<LabelSet>& from) {
        for (const LabelSet& set : from) {
          if (set.axis == static_cast<int>(axis)) sets.push_back(&set);
        }
      };
      for (const AxisPoints& other : grid_.points_) collect(other.when);
      for (const ExclusionSets& exclusion : grid_.exclude_) collect(exclusion.sets);
      AxisPoints& points = grid_.points_[axis];
      if (sets.empty()) {
        points.class_of.assign(points.patches.size(), 0);
        points.class_sizes = {grid_.length(axis)};
        continue;
      }
      std::map<std::vector<bool>, int> classes;
      for (std::size_t digit = 0; digit < points.patches.size(); ++digit) {
        std::vector<bool> signature;
        for (const LabelSet* set : sets) signature.push_back(set->labels[digit]);
        const int label_class =
            classes.try_emplace(std::move(signature), static_cast<int>(classes.size())).first->second;
        points.class_of.push_back(label_class);
        points.class_sizes.resize(classes.size());
        ++points.class_sizes[static_cast<std::size_t>(label_class)];
      }
    }
  }

  void ComputeSize() {
    unsigned __int128 product = 1;
    for (std::size_t i = grid_.points_.size(); i-- > 0;) {
      grid_.points_[i].suffix = static_cast<std::uint64_t>(product);
      product = std::min<unsigned __int128>(product * grid_.length(i), kSizeMax);
    }
    if (!grid_.sampled_) grid_.size_ = static_cast<std::uint64_t>(product);
  }

  using ClaimGroups = std::map<PatchClaims, std::vector<std::uint32_t>>;

  // Two axes that set one field, or choose different members of one choice, at the same point: the later one
  // would win silently.
  void CheckConflicts() {
    std::vector<ClaimGroups> groups(grid_.points_.size());
    for (std::size_t axis = 0; axis < groups.size(); ++axis) {
      const AxisPoints& points = grid_.points_[axis];
      std::vector<std::uint32_t>* alike = nullptr;
      for (std::uint32_t digit = 0; digit < grid_.length(axis); ++digit) {
        if (alike == nullptr || !points.sets_alike) alike = &groups[axis][ClaimsOf(points.patches[digit])];
        alike->push_back(digit);
      }
    }
    for (std::size_t later = 1; later < groups.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier)
        CheckConflict(earlier, groups[earlier], later, groups[later]);
    }
  }

  // Reports the first conflict of two axes.
  void CheckConflict(std::size_t earlier, const ClaimGroups& earlier_groups, std::size_t later,
                     const ClaimGroups& later_groups) {
    int tried = 0;
    for (const auto& [later_claims, later_digits] : later_groups) {
      for (const auto& [earlier_claims, earlier_digits] : earlier_groups) {
        const std::string conflict = ConflictOf(earlier_claims, later_claims);
        if (conflict.empty()) continue;
        for (const std::uint32_t b : later_digits) {
          for (const std::uint32_t a : earlier_digits) {
            if (++tried > kConflictPairsMax) return;
            if (!grid_.FindPoint({{static_cast<int>(earlier), a}, {static_cast<int>(later), b}})) continue;
            const AxisInfo& first = grid_.axes_[earlier];
            problems_->Add(grid_.points_[later].PathOf(b), conflict + " as axis " + first.name + " does at " +
                                                               first.name + "=" + first.labels[a] +
                                                               "; limit this axis with when: {" + first.name +
                                                               ": [...]}, or use one axis");
            return;
          }
        }
      }
    }
  }

  const v1::SweepSpec& sweep_;
  SweepGrid& grid_;
  Problems* problems_;
};

void SweepGrid::CompileConditions(const v1::SweepSpec& sweep, Problems* problems) {
  Conditions(sweep, *this, problems).Compile();
}

}  // namespace inlier
