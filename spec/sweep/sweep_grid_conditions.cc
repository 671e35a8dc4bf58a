// The limits of the points of a grid whose axes are compiled: conditions, exclusions, and axes in conflict.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/sorted_map.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/patch_claims.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

using google::protobuf::Value;

namespace {

constexpr std::uint64_t kConflictStepsMax = 1'000'000;
constexpr std::uint64_t kListStepsMax = 10'000'000;

}  // namespace

class SweepGrid::Conditions {
 public:
  Conditions(const v1::SweepSpec& sweep, SweepGrid& grid, Problems* problems)
      : sweep_(sweep), grid_(grid), problems_(problems) {}

  void Compile() {
    const std::size_t before = problems_->count();
    axes_.resize(grid_.points_.size());
    finders_.resize(grid_.points_.size());
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) axes_[axis].length = grid_.length(axis);
    for (int i = 0; i < sweep_.axes_size(); ++i) AddWhen(i);
    for (int i = 0; i < sweep_.exclude_size(); ++i) AddExclusion(i);
    if (problems_->count() != before) return;
    grid_.rules_ = std::make_shared<const PointRules>(axes_, exclusions_);
    ComputeSize();
    if (grid_.rules_->size() > 0 && !grid_.sampled_) ListPoints();
    if (problems_->count() == before) CheckConflicts();
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

  std::optional<std::uint32_t> DigitNamed(std::size_t axis, const std::string& text) {
    if (!finders_[axis]) finders_[axis].emplace(grid_.axes_[axis].labels);
    return finders_[axis]->Find(text);
  }

  // The labels that `value` (one, or a list) names.
  PointRules::DigitSet LabelsNamed(int axis, const Value& value, const std::string& path) {
    const AxisInfo& named = grid_.axes_[static_cast<std::size_t>(axis)];
    PointRules::DigitSet set;
    set.axis = axis;
    const auto add = [&](const Value& one, const std::string& one_path) {
      const std::string text = ValueText(one);
      if (text.empty() && one.kind_case() == Value::kStringValue) {
        set.where_inactive = true;
        return;
      }
      if (!named.range.empty())
        return problems_->Add(
            one_path, "the numbers of axis " + named.name +
                          " are drawn and cannot be named; narrow them by min and max, or give values");
      if (const auto digit = DigitNamed(static_cast<std::size_t>(axis), text)) {
        set.digits.push_back(*digit);
        return;
      }
      problems_->Add(one_path,
                     Quoted(text) + " is not a label of axis " + named.name + DidYouMean(text, named.labels));
    };
    if (value.kind_case() != Value::kListValue) {
      add(value, path);
      return set;
    }
    if (value.list_value().values_size() == 0)
      problems_->Add(path, "is an empty list; name at least one label");
    for (int i = 0; i < value.list_value().values_size(); ++i)
      add(value.list_value().values(i), ItemPath(path, i));
    std::ranges::sort(set.digits);
    set.digits.erase(std::unique(set.digits.begin(), set.digits.end()), set.digits.end());
    return set;
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
      if (sweep_.sampling().has_optuna() && sweep_.axes(axis).each() && !sweep_.axes(index).each())
        problems_->Add(path, "axis " + name +
                                 " runs with each of its values, so that no point decides it; "
                                 "give this axis each: true, or search that one too");
      axes_[static_cast<std::size_t>(index)].when.push_back(LabelsNamed(axis, value, path));
    }
  }

  void AddExclusion(int index) {
    const std::string path = ItemPath("exclude", index);
    if (sweep_.exclude(index).match().empty())
      return problems_->Add(
          path, "names no axis and would leave out everything; name at least one, such as {seed: 1}");
    PointRules::Exclusion exclusion;
    for (const auto& [name, value] : Sorted(sweep_.exclude(index).match())) {
      const int axis = AxisNamed(name, path + "." + name);
      if (axis < 0) continue;
      exclusion.push_back(LabelsNamed(axis, value, path + "." + name));
    }
    exclusions_.push_back(std::move(exclusion));
  }

  void ComputeSize() {
    unsigned __int128 product = 1;
    for (std::size_t i = grid_.points_.size(); i-- > 0;) {
      grid_.points_[i].suffix = static_cast<std::uint64_t>(product);
      product = std::min<unsigned __int128>(product * grid_.length(i), kSizeMax);
    }
    if (!grid_.sampled_) grid_.size_ = static_cast<std::uint64_t>(product);
  }

  void ListPoints() {
    auto points = std::make_shared<std::vector<std::uint64_t>>();
    std::uint64_t budget = kListStepsMax;
    std::string problem;
    const auto add = [&](const Digits& digits) {
      const std::optional<std::uint64_t> index = grid_.IndexOf(digits);
      if (!index) {
        problem = "the axes have too many combinations to number those that are left; leave out values, or";
      } else if (points->size() == kRuledMax) {
        problem = absl::StrCat(
            "more than ", kRuledMax,
            " points are left, and where axes have conditions or exclusions the points are counted "
            "one by one; leave out values, draw samples (sampling), or");
      } else {
        points->push_back(*index);
      }
      return problem.empty();
    };
    grid_.rules_->ForEach(add, &budget);
    if (budget == 0) {
      problem = absl::StrCat(
          "counting the points that are left takes too long: ", points->size(), " in ", kListStepsMax,
          " steps; put axes that one exclusion names next to each other, name fewer axes in one "
          "exclusion, or");
    }
    if (!problem.empty())
      problems_->Add(sweep_.exclude_size() > 0 ? "exclude" : "axes", problem + " split the sweep");
    grid_.ruled_ = std::move(points);
  }

  using ClaimGroups = std::map<PatchClaims, std::vector<std::uint32_t>>;

  PatchClaims ClaimsAt(const AxisPoints& points, std::uint32_t digit) {
    const v1::TrialSpec& patch = points.patches[digit];
    PatchClaims claims =
        grid_.form_->is_program() ? ClaimsOf(*grid_.form_->Read(patch, problems_)) : ClaimsOf(patch);
    if (const auto null = points.unset.find(digit); null != points.unset.end())
      claims.unset = {null->second.begin(), null->second.end()};
    return claims;
  }

  // Refuses two axes that set one field or choice at the same point, where the later one would win silently.
  void CheckConflicts() {
    std::vector<ClaimGroups> groups(grid_.points_.size());
    for (std::size_t axis = 0; axis < groups.size(); ++axis) {
      const AxisPoints& points = grid_.points_[axis];
      std::vector<std::uint32_t>* alike = nullptr;
      for (std::uint32_t digit = 0; digit < grid_.length(axis); ++digit) {
        if (alike == nullptr || !points.sets_alike) alike = &groups[axis][ClaimsAt(points, digit)];
        alike->push_back(digit);
      }
    }
    std::uint64_t budget = kConflictStepsMax;
    for (std::size_t later = 1; later < groups.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (CheckConflict(earlier, groups[earlier], later, groups[later], &budget)) continue;
        return problems_->Add(
            ItemPath("axes", static_cast<int>(later)),
            "sets what axis " + grid_.axes_[earlier].name +
                " sets, and there are too many combinations to "
                "check that they never do so together; give the variants of each axis the same fields");
      }
    }
  }

  // The remedy where the axis `later` sets what `first` sets at `label`.
  std::string Advice(const AxisInfo& first, const std::string& label, std::size_t later) const {
    const auto& when = sweep_.axes(static_cast<int>(later)).when();
    if (when.find(first.name) == when.end())
      return "; limit this axis with when: {" + first.name + ": [...]}, or use one axis";
    return ", where the `when` of this axis lets it act; leave it out of " + first.name + "=" + label +
           ", or leave that label out of `when`";
  }

  // Reports the first conflict of two axes; false when the budget is used up.
  bool CheckConflict(std::size_t earlier, const ClaimGroups& earlier_groups, std::size_t later,
                     const ClaimGroups& later_groups, std::uint64_t* budget) {
    for (const auto& [later_claims, later_digits] : later_groups) {
      for (const auto& [earlier_claims, earlier_digits] : earlier_groups) {
        *budget -=
            std::min<std::uint64_t>(*budget, 1 + later_claims.leaves.size() + later_claims.members.size());
        const std::string conflict = ConflictOf(earlier_claims, later_claims);
        if (*budget == 0) return false;
        if (conflict.empty()) continue;
        const std::optional<Digits> digits =
            grid_.rules_->First({{.axis = static_cast<int>(earlier), .digits = earlier_digits},
                                 {.axis = static_cast<int>(later), .digits = later_digits}},
                                budget);
        if (!digits) continue;
        const AxisInfo& first = grid_.axes_[earlier];
        const std::string& label = first.labels[(*digits)[earlier]];
        problems_->Add(grid_.points_[later].PathOf((*digits)[later]),
                       conflict + " as axis " + first.name + " does at " + first.name + "=" + label +
                           Advice(first, label, later));
        return true;
      }
    }
    return *budget > 0;
  }

  const v1::SweepSpec& sweep_;
  SweepGrid& grid_;
  Problems* problems_;
  std::vector<PointRules::Axis> axes_;
  std::vector<PointRules::Exclusion> exclusions_;
  std::vector<std::optional<LabelFinder>> finders_;  // By axis; made when needed.
};

void SweepGrid::CompileConditions(const v1::SweepSpec& sweep, Problems* problems) {
  Conditions(sweep, *this, problems).Compile();
}

}  // namespace inlier
