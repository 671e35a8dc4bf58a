#include "coordinator/tables/table_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/tables/published.h"
#include "coordinator/tables/trial_values.h"
#include "spec/schema/columns.h"
#include "spec/schema/did_you_mean.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/trial/canonical.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

using google::protobuf::Value;
using Where = google::protobuf::Map<std::string, Value>;

// The measurements of the papers' tables.
constexpr const char* kUsualMeasurements[] = {"perplexity", "max_inf_norm", "avg_kurtosis"};
// The column of the view `trials` that selects the published figure of ours.
constexpr char kSpecColumn[] = "spec";

// The names that rows and conditions may use.
class Names {
 public:
  static absl::StatusOr<Names> Of(const v1::SweepSpec& sweep) {
    ASSIGN_OR_RETURN(const SweepGrid grid, SweepGrid::Create(sweep));
    Names names;
    for (const SweepGrid::AxisInfo& axis : grid.axes()) {
      names.known_.push_back(axis.name);
      if (!axis.range.empty()) continue;  // Any number between its ends is a label.
      names.axes_.emplace(axis.name, axis.labels);
    }
    for (const SpecColumn& column : SpecColumns()) {
      if (!names.axes_.contains(column.name)) names.known_.push_back(column.name);
    }
    return names;
  }

  const std::vector<std::string>* LabelsOf(const std::string& name) const {
    const auto axis = axes_.find(name);
    return axis == axes_.end() ? nullptr : &axis->second;
  }

  absl::Status Check(const std::string& place, const std::string& name) const {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": \"", name, "\" is neither an axis of the sweep nor a column of the view trials",
        DidYouMean(name, known_)));
  }

  absl::Status CheckWhere(const std::string& place, const Where& where) const {
    // A map has no order of its own: by name, so that the same mistake gives the same message.
    const std::map<std::string, Value> sorted(where.begin(), where.end());
    for (const auto& [name, wanted] : sorted) {
      RETURN_IF_ERROR(Check(place, name));
      const std::vector<std::string>* labels = LabelsOf(name);
      if (labels == nullptr) continue;
      std::vector<Value> each = {wanted};
      if (wanted.kind_case() == Value::kListValue)
        each.assign(wanted.list_value().values().begin(), wanted.list_value().values().end());
      for (const Value& one : each) {
        if (one.kind_case() == Value::kNullValue) continue;
        if (std::any_of(labels->begin(), labels->end(),
                        [&](const std::string& label) { return LabelMatches(label, one); }))
          continue;
        const std::string text = SqlTextOf(one);
        return absl::InvalidArgumentError(absl::StrCat(place, ".", name, ": the axis has no label \"", text,
                                                       "\"", DidYouMean(text, *labels)));
      }
    }
    return absl::OkStatus();
  }

 private:
  static std::string SqlTextOf(const Value& value) {
    if (value.kind_case() == Value::kNumberValue) return SqlText(value.number_value());
    if (value.kind_case() == Value::kBoolValue) return value.bool_value() ? "true" : "false";
    return value.string_value();
  }

  std::map<std::string, std::vector<std::string>> axes_;
  std::vector<std::string> known_;
};

absl::Status CheckMeasurement(const std::string& place, const std::string& name) {
  std::vector<std::string> known;
  for (const MeasurementInfo& info : Measurements()) {
    if (!info.final || info.axis == "site") continue;
    if (info.name == name) return absl::OkStatus();
    known.emplace_back(info.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": \"", name, "\" is no final measurement of a trial", DidYouMean(name, known)));
}

absl::Status CheckSpec(const v1::TableSpec& spec, const Names& names) {
  for (int i = 0; i < spec.rows_size(); ++i)
    RETURN_IF_ERROR(names.Check(absl::StrCat("table.rows[", i, "]"), spec.rows(i)));
  RETURN_IF_ERROR(names.CheckWhere("table.where", spec.where()));
  for (int i = 0; i < spec.columns_size(); ++i) {
    const std::string place = absl::StrCat("table.columns[", i, "]");
    RETURN_IF_ERROR(CheckMeasurement(place + ".measurement", spec.columns(i).measurement()));
    RETURN_IF_ERROR(names.CheckWhere(place + ".where", spec.columns(i).where()));
  }
  return absl::OkStatus();
}

std::string RowLabel(const TrialValues& trial, const std::string& name) {
  const auto label = trial.labels.find(name);
  return label != trial.labels.end() ? label->second : SqlText(trial.columns.at(name));
}

// Labels and the trials that have them.
using Row = std::pair<std::vector<std::string>, std::vector<const TrialValues*>>;

// The rows: combinations of labels that trials have, in the order of the axes' labels (of a column: in the
// order of the trials).
std::vector<Row> GroupRows(const std::vector<const TrialValues*>& trials, const v1::TableSpec& spec,
                           const Names& names) {
  std::vector<std::map<std::string, std::size_t>> ranks(spec.rows_size());
  for (int i = 0; i < spec.rows_size(); ++i) {
    if (const auto* labels = names.LabelsOf(spec.rows(i))) {
      for (const std::string& label : *labels) ranks[i].emplace(label, ranks[i].size());
    }
  }
  std::map<std::vector<std::size_t>, Row> rows;
  for (const TrialValues* trial : trials) {
    std::vector<std::string> labels;
    std::vector<std::size_t> key;
    for (int i = 0; i < spec.rows_size(); ++i) {
      labels.push_back(RowLabel(*trial, spec.rows(i)));
      key.push_back(ranks[i].emplace(labels.back(), ranks[i].size()).first->second);
    }
    Row& row = rows[key];
    row.first = std::move(labels);
    row.second.push_back(trial);
  }
  std::vector<Row> result;
  for (auto& [key, row] : rows) result.push_back(std::move(row));
  return result;
}

// The specs of trials, each read once.
using Specs = std::map<const TrialValues*, v1::TrialSpec>;

// The figure of all trials behind the cell, in our unit; none when they are not of one kind.
void AttachPublished(const std::vector<const PublishedFigure*>& figures,
                     const std::vector<const TrialValues*>& trials, const Specs& specs,
                     const std::string& measurement, v1::TableCell* cell) {
  const PublishedFigure* figure = nullptr;
  for (const TrialValues* trial : trials) {
    const PublishedFigure* one = FindPublished(figures, PublishedQueryOf(specs.at(trial), measurement));
    if (one == nullptr || (figure != nullptr && one != figure)) return;
    figure = one;
  }
  if (figure == nullptr) return;
  const double unit = PublishedUnit(figure->metric);
  cell->set_published_mean(figure->mean * unit);
  if (figure->std.has_value()) cell->set_published_std(*figure->std * unit);
}

}  // namespace

v1::TableSpec DefaultTableSpec(const v1::SweepSpec& sweep) {
  v1::TableSpec spec;
  const absl::StatusOr<SweepGrid> grid = SweepGrid::Create(sweep);
  if (grid.ok()) {
    for (const SweepGrid::AxisInfo& axis : grid->axes()) {
      if (axis.field != "seed" && axis.name != "seed") spec.add_rows(axis.name);
    }
  }
  for (const char* measurement : kUsualMeasurements) {
    if (FindMeasurement(measurement) != nullptr) spec.add_columns()->set_measurement(measurement);
  }
  return spec;
}

absl::StatusOr<v1::Table> BuildTable(Reader& reader, SweepId sweep, const v1::TableSpec& asked) {
  ASSIGN_OR_RETURN(const v1::SweepStatus status, reader.GetSweep(sweep));
  v1::TableSpec spec = asked;
  if (spec.columns_size() == 0)
    spec = status.spec().table().columns_size() > 0 ? status.spec().table() : DefaultTableSpec(status.spec());
  ASSIGN_OR_RETURN(const Names names, Names::Of(status.spec()));
  RETURN_IF_ERROR(CheckSpec(spec, names));
  std::vector<const PublishedFigure*> figures;
  if (!spec.published().empty()) {
    absl::StatusOr<std::vector<const PublishedFigure*>> found = PublishedTable(spec.published());
    if (!found.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("table.published: ", std::string(found.status().message())));
    figures = *std::move(found);
  }

  std::set<std::string> columns;
  std::set<std::string> measurements;
  const auto need = [&](const std::string& name) {
    if (names.LabelsOf(name) == nullptr) columns.insert(name);
  };
  for (const std::string& name : spec.rows()) need(name);
  for (const auto& [name, wanted] : spec.where()) need(name);
  for (const v1::TableColumn& column : spec.columns()) {
    measurements.insert(column.measurement());
    for (const auto& [name, wanted] : column.where()) need(name);
  }
  if (!figures.empty()) columns.insert(kSpecColumn);
  ASSIGN_OR_RETURN(const std::vector<TrialValues> trials, ReadTrials(reader, sweep, columns, measurements));
  std::vector<const TrialValues*> chosen;
  Specs specs;
  for (const TrialValues& trial : trials) {
    if (!Matches(trial, spec.where())) continue;
    chosen.push_back(&trial);
    if (figures.empty()) continue;
    ASSIGN_OR_RETURN(specs[&trial], TrialSpecFromJson(SqlText(trial.columns.at(kSpecColumn))));
  }

  v1::Table table;
  table.set_title(spec.has_title() ? spec.title() : status.name());
  for (const std::string& name : spec.rows()) table.add_row_headings(name);
  for (const v1::TableColumn& column : spec.columns()) {
    table.add_column_headings(column.has_heading() ? column.heading() : column.measurement());
    table.add_decimals(column.decimals());
  }
  for (const auto& [labels, members] : GroupRows(chosen, spec, names)) {
    v1::TableRow* row = table.add_rows();
    for (const std::string& label : labels) row->add_labels(label);
    for (const v1::TableColumn& column : spec.columns()) {
      std::vector<const TrialValues*> behind;
      std::copy_if(members.begin(), members.end(), std::back_inserter(behind),
                   [&](const TrialValues* trial) { return Matches(*trial, column.where()); });
      v1::TableCell* cell = row->add_cells();
      *cell = MakeCell(behind, column.measurement());
      if (!figures.empty()) AttachPublished(figures, behind, specs, column.measurement(), cell);
    }
  }
  return table;
}

}  // namespace inlier
