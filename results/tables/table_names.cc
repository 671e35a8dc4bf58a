#include "results/tables/table_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/sorted_map.h"
#include "base/status.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/problems.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/table_columns.h"

namespace inlier {
namespace {

using google::protobuf::Value;

// Columns of the view trials, for tables over several sweeps, that are not hyper-parameters.
constexpr const char* kSweepColumns[] = {"sweep", "sweep_id", kOriginColumn};

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

absl::StatusOr<TableNames> TableNames::Of(const std::vector<v1::SweepSpec>& sweeps) {
  TableNames names;
  ASSIGN_OR_RETURN(names.measurements_, MeasurementList::Of(sweeps));
  std::set<std::string> columns;
  bool has_ours = false;  // Of our models: the same for all their sweeps.
  for (const v1::SweepSpec& sweep : sweeps) {
    ASSIGN_OR_RETURN(const SweepGrid grid, SweepGrid::Create(sweep));
    if (grid.form().is_program() || !std::exchange(has_ours, true)) {
      for (const SpecColumn& column : grid.form().columns()) columns.insert(column.name);
      for (const ParamInfo& info : grid.form().params()) {
        if (info.symbol.empty()) continue;
        names.symbols_.emplace("." + info.path, info.symbol);
        names.symbols_.emplace(info.column, info.symbol);
      }
    }
    for (const AxisInfo& info : grid.axes()) {
      const auto [axis, is_new] = names.axes_.try_emplace(info.name);
      if (is_new) {
        names.known_.push_back(info.name);
        axis->second.field = info.field;
        axis->second.labels.emplace();
      }
      std::optional<std::vector<std::string>>& labels = axis->second.labels;
      if (!info.range.empty()) labels.reset();
      if (!labels) continue;
      std::set<std::string> seen(labels->begin(), labels->end());
      for (const std::string& label : info.labels) {
        if (seen.insert(label).second) labels->push_back(label);
      }
    }
  }
  for (const std::string& column : columns) {
    if (!names.axes_.contains(column)) names.known_.push_back(column);
  }
  for (const char* column : kSweepColumns) {
    if (!names.axes_.contains(column)) names.known_.emplace_back(column);
  }
  return names;
}

const std::vector<std::string>* TableNames::LabelsOf(const std::string& name) const {
  const auto axis = axes_.find(name);
  return axis == axes_.end() || !axis->second.labels ? nullptr : &*axis->second.labels;
}

std::string TableNames::SymbolOf(const std::string& name) const {
  const auto axis = axes_.find(name);
  const auto symbol = symbols_.find(axis != axes_.end() ? "." + axis->second.field : name);
  return symbol == symbols_.end() ? "" : symbol->second;
}

absl::Status TableNames::Resolve(v1::TableSpec& spec, const std::function<absl::Status()>& check) const {
  for (int i = 0; i < spec.rows_size(); ++i)
    RETURN_IF_ERROR(CheckName(ItemPath("table.rows", i), spec.rows(i)));
  RETURN_IF_ERROR(ResolveWhere("table.where", *spec.mutable_where(), check));
  Problems problems;
  CheckTableForm(spec, *measurements_, &problems);
  if (!problems.empty()) {
    const Problem& first = problems.kept().front();
    return absl::InvalidArgumentError(absl::StrCat(first.path, ": ", first.text));
  }
  for (int i = 0; i < spec.columns_size(); ++i) {
    const std::string place = ItemPath("table.columns", i);
    v1::TableColumn& column = *spec.mutable_columns(i);
    RETURN_IF_ERROR(ResolveWhere(place + ".where", *column.mutable_where(), check));
    for (const std::string& name : column.best_of().over())
      RETURN_IF_ERROR(CheckName(place + ".best_of.over", name));
    for (const std::string& name : column.mean_over()) RETURN_IF_ERROR(CheckName(place + ".mean_over", name));
  }
  return ResolveBaseline(spec, check);
}

absl::Status TableNames::CheckName(const std::string& place, const std::string& name) const {
  if (Contains(known_, name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": \"", name, "\" is neither an axis of the sweep nor a column of the view trials",
                   DidYouMean(name, known_)));
}

absl::Status TableNames::ResolveWhere(const std::string& place, Where& where,
                                      const std::function<absl::Status()>& check) const {
  // A map has no order; sorted names make the errors the same every time.
  for (const auto& [name, wanted] : Sorted(where)) {
    RETURN_IF_ERROR(CheckName(place, name));
    const std::vector<std::string>* labels = LabelsOf(name);
    const LabelFinder* const finder =
        labels == nullptr ? nullptr : &finders_.try_emplace(name, *labels).first->second;
    where[name] = WithLabels(wanted, finder);
    if (finder == nullptr) continue;
    std::vector<Value> each = {wanted};
    if (wanted.kind_case() == Value::kListValue)
      each.assign(wanted.list_value().values().begin(), wanted.list_value().values().end());
    for (const Value& one : each) {
      RETURN_IF_ERROR(check());
      const std::string text = ValueText(one);
      if (one.kind_case() == Value::kNullValue || finder->Find(text)) continue;
      return absl::InvalidArgumentError(absl::StrCat(place, ".", name, ": the axis has no label \"", text,
                                                     "\"", DidYouMean(text, *labels)));
    }
  }
  return absl::OkStatus();
}

absl::Status TableNames::ResolveBaseline(v1::TableSpec& spec,
                                         const std::function<absl::Status()>& check) const {
  const std::vector<std::string> rows(spec.rows().begin(), spec.rows().end());
  for (const auto& [name, label] : Sorted(spec.baseline())) {
    if (!Contains(rows, name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "table.baseline: \"", name, "\" is not among the table's rows", DidYouMean(name, rows)));
    }
    if (label.kind_case() == Value::kListValue || label.kind_case() == Value::kStructValue)
      return absl::InvalidArgumentError(absl::StrCat("table.baseline.", name, ": give one label"));
  }
  return ResolveWhere("table.baseline", *spec.mutable_baseline(), check);
}

}  // namespace inlier
