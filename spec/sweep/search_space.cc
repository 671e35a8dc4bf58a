#include "spec/sweep/search_space.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/label_finder.h"

namespace inlier {
namespace {

// A final number of a trial; null with a problem.
const MeasurementInfo* FinalNamed(const SweepGrid& grid, const std::string& name, const std::string& path,
                                  Problems* problems) {
  const MeasurementInfo* info = grid.form().measurements()->Find(name);
  if (info != nullptr && info->final && info->axis != "site") return info;
  std::vector<std::string> known;
  for (const MeasurementInfo& one : grid.form().measurements()->all()) {
    if (one.final && one.axis != "site") known.emplace_back(one.name);
  }
  problems->Add(path + ".measurement",
                Quoted(name) + " is not a final measurement of a trial" + DidYouMean(name, known));
  return nullptr;
}

void CheckConstraint(const v1::SearchConstraint& constraint, const SweepGrid& grid, const std::string& path,
                     Problems* problems) {
  FinalNamed(grid, constraint.measurement(), path, problems);
  if (!constraint.has_min() && !constraint.has_max())
    return problems->Add(path, "limits nothing; give min, max or both");
  if (constraint.has_min() && constraint.has_max() && constraint.min() > constraint.max())
    problems->Add(path, absl::StrCat("min ", FormatNumber(constraint.min()), " is above max ",
                                     FormatNumber(constraint.max()), "; exchange them"));
}

v1::PruningSpec::Goal GoalOf(const v1::SearchObjective& objective, const MeasurementInfo& info) {
  if (objective.has_goal()) return objective.goal();
  return info.better == Better::kHigher ? v1::PruningSpec::MAXIMIZE : v1::PruningSpec::MINIMIZE;
}

// By name or by field.
std::size_t AxisNamed(const SweepGrid& grid, const std::string& name) {
  const auto named = [&name](const AxisInfo& axis) { return axis.name == name || axis.field == name; };
  return static_cast<std::size_t>(std::ranges::find_if(grid.axes(), named) - grid.axes().begin());
}

void AddCondition(const SweepGrid& grid, const std::string& name, const google::protobuf::Value& value,
                  v1::SearchAxis& axis) {
  const AxisInfo& named = grid.axes()[AxisNamed(grid, name)];
  v1::SearchAxis::Condition& condition = *axis.add_when();
  condition.set_axis(named.name);
  const LabelFinder finder(named.labels);
  const auto add = [&](const google::protobuf::Value& one) {
    const auto digit = finder.Find(ValueText(one));
    condition.add_labels(digit ? named.labels[*digit] : "");
  };
  if (value.kind_case() != google::protobuf::Value::kListValue) return add(value);
  for (const google::protobuf::Value& one : value.list_value().values()) add(one);
}

}  // namespace

void CheckSearch(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems) {
  const v1::OptunaSampling& search = sweep.sampling().optuna();
  const std::string path = "sampling.optuna";
  if (search.objectives_size() == 0)
    problems->Add(path + ".objectives",
                  "are missing; name what to improve, such as [{measurement: perplexity}]");
  for (int i = 0; i < search.objectives_size(); ++i) {
    const v1::SearchObjective& objective = search.objectives(i);
    const std::string place = ItemPath(path + ".objectives", i);
    const MeasurementInfo* info = FinalNamed(grid, objective.measurement(), place, problems);
    if (info != nullptr && info->better == Better::kNone && !objective.has_goal())
      problems->Add(place + ".goal",
                    absl::StrCat("is missing, and neither more nor less ", objective.measurement(),
                                 " is better by itself; give ", "goal: MINIMIZE or MAXIMIZE"));
  }
  for (int i = 0; i < search.constraints_size(); ++i)
    CheckConstraint(search.constraints(i), grid, ItemPath(path + ".constraints", i), problems);
  if (search.sampler() == v1::OptunaSampling::CMA_ES && search.objectives_size() > 1)
    problems->Add(path + ".sampler", "CMA_ES takes one objective; give one, or another sampler");
  if (search.sampler() == v1::OptunaSampling::CMA_ES && search.constraints_size() > 0)
    problems->Add(path + ".sampler", "CMA_ES takes no constraints; leave them out, or give another sampler");
  if (search.start_size() > static_cast<int>(search.trials()))
    problems->Add(path + ".start", absl::StrCat("has ", search.start_size(), " points, more than trials ",
                                                search.trials(), "; raise trials"));
  for (int i = 0; i < search.start_size(); ++i)
    grid.SampleOf(search.start(i), /*part=*/true, ItemPath(path + ".start", i), problems);
}

void WriteOneWay(const SweepGrid& grid, google::protobuf::Struct* values) {
  Problems none;
  const std::optional<GridSample> sample = grid.SampleOf(*values, /*part=*/true, "", &none);
  for (std::size_t axis = 0; sample && axis < grid.axes().size(); ++axis) {
    const AxisInfo& info = grid.axes()[axis];
    const auto at = values->mutable_fields()->find(info.name);
    if (at == values->mutable_fields()->end()) continue;
    if (grid.SearchedRange(axis) != nullptr) {
      at->second.set_number_value(sample->values[axis]);
    } else {
      at->second.set_string_value(info.labels[sample->digits[axis]]);
    }
  }
}

v1::Search SearchOf(const v1::SweepSpec& sweep, const SweepGrid& grid) {
  v1::Search search;
  *search.mutable_sampling() = sweep.sampling().optuna();
  for (v1::SearchObjective& objective : *search.mutable_sampling()->mutable_objectives()) {
    if (const MeasurementInfo* info = grid.form().measurements()->Find(objective.measurement()))
      objective.set_goal(GoalOf(objective, *info));
  }
  for (google::protobuf::Struct& start : *search.mutable_sampling()->mutable_start())
    WriteOneWay(grid, &start);
  if (sweep.has_pruning()) *search.mutable_pruning() = sweep.pruning();
  for (int i = 0; i < sweep.axes_size(); ++i) {
    const AxisInfo& info = grid.axes()[static_cast<std::size_t>(i)];
    if (info.each) continue;
    v1::SearchAxis& axis = *search.add_axes();
    axis.set_name(info.name);
    if (const v1::AxisRange* range = grid.SearchedRange(static_cast<std::size_t>(i))) {
      *axis.mutable_range() = *range;
    } else {
      *axis.mutable_labels() = {info.labels.begin(), info.labels.end()};
    }
    for (const auto& [name, value] : std::map(sweep.axes(i).when().begin(), sweep.axes(i).when().end()))
      AddCondition(grid, name, value, axis);
  }
  return search;
}

}  // namespace inlier
