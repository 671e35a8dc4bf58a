#include "coordinator/tables/table_builder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "coordinator/tables/published.h"
#include "coordinator/tables/trial_values.h"
#include "spec/schema/columns.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/limits.h"
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
constexpr std::size_t kTrialsBetweenChecks = 64;

// Whether a table has taken too long, or nobody waits for it any more.
class Patience {
 public:
  explicit Patience(const std::function<bool()>& cancelled)
      : cancelled_(cancelled), end_(MonotonicNow() + kTableTime) {}
  absl::Status Check() const {
    if (cancelled_ && cancelled_()) return absl::CancelledError("the caller has gone");
    if (MonotonicNow() < end_) return absl::OkStatus();
    return absl::DeadlineExceededError(
        absl::StrCat("the table took longer than ", FormatDuration(kTableTime),
                     "; give it fewer columns, or fewer values in conditions"));
  }

 private:
  const std::function<bool()>& cancelled_;
  const Timestamp end_;
};

// The names that rows and conditions may use: axes, whose labels a trial has, and columns of the view trials.
class Names {
 public:
  static absl::StatusOr<Names> Of(const v1::SweepSpec& sweep) {
    ASSIGN_OR_RETURN(const SweepGrid grid, SweepGrid::Create(sweep));
    Names names;
    for (const SweepGrid::AxisInfo& axis : grid.axes()) {
      names.known_.push_back(axis.name);
      // Of a range any number between its ends is a label.
      names.axes_.emplace(axis.name, axis.range.empty() ? std::optional(axis.labels) : std::nullopt);
    }
    for (const SpecColumn& column : SpecColumns()) {
      if (!names.axes_.contains(column.name)) names.known_.push_back(column.name);
    }
    return names;
  }

  bool IsAxis(const std::string& name) const { return axes_.contains(name); }
  // nullptr: any text is a label, or it is no axis.
  const std::vector<std::string>* LabelsOf(const std::string& name) const {
    const auto axis = axes_.find(name);
    return axis == axes_.end() || !axis->second ? nullptr : &*axis->second;
  }

  absl::Status Check(const std::string& place, const std::string& name) const {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": \"", name, "\" is neither an axis of the sweep nor a column of the view trials",
        DidYouMean(name, known_)));
  }

  absl::Status CheckWhere(const std::string& place, const Where& where, const Patience& patience) const {
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
        RETURN_IF_ERROR(patience.Check());
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

  std::map<std::string, std::optional<std::vector<std::string>>> axes_;
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

absl::Status CheckSpec(const v1::TableSpec& spec, const Names& names, const Patience& patience) {
  for (int i = 0; i < spec.rows_size(); ++i)
    RETURN_IF_ERROR(names.Check(absl::StrCat("table.rows[", i, "]"), spec.rows(i)));
  RETURN_IF_ERROR(names.CheckWhere("table.where", spec.where(), patience));
  for (int i = 0; i < spec.columns_size(); ++i) {
    const std::string place = absl::StrCat("table.columns[", i, "]");
    RETURN_IF_ERROR(CheckMeasurement(place + ".measurement", spec.columns(i).measurement()));
    RETURN_IF_ERROR(names.CheckWhere(place + ".where", spec.columns(i).where(), patience));
  }
  return absl::OkStatus();
}

// Empty for an axis that does not apply to the trial.
std::string RowLabel(const TrialValues& trial, const std::string& name) {
  if (const auto label = trial.labels.find(name); label != trial.labels.end()) return label->second;
  const auto column = trial.columns.find(name);
  return column != trial.columns.end() ? SqlText(column->second) : "";
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

// The figures that a table is compared with: none when it names no published table.
struct Published {
  std::vector<const PublishedFigure*> figures;
  bool other_settings = false;  // Also where the paper's setting is another one, with a mark.
};

// The figure of all trials behind the cell, in our unit; none when they are not of one kind.
void AttachPublished(const Published& published, const std::vector<const TrialValues*>& trials,
                     const Specs& specs, const std::string& measurement, v1::TableCell* cell) {
  const PublishedFigure* figure = nullptr;
  std::vector<std::string> differences;
  for (const TrialValues* trial : trials) {
    const PublishedMatch match =
        FindPublished(published.figures, PublishedQueryOf(specs.at(trial), measurement));
    if (match.figure == nullptr || (!match.differences.empty() && !published.other_settings)) return;
    if (figure != nullptr && match.figure != figure) return;
    figure = match.figure;
    for (const std::string& difference : match.differences) {
      if (std::find(differences.begin(), differences.end(), difference) == differences.end())
        differences.push_back(difference);
    }
  }
  if (figure == nullptr) return;
  cell->set_published_mean(InOurUnit(figure->metric, figure->mean));
  if (figure->std.has_value()) cell->set_published_std(InOurUnit(figure->metric, *figure->std));
  cell->set_published_decimals(figure->decimals);
  for (std::string& difference : differences) cell->add_published_differs_in(std::move(difference));
}

absl::StatusOr<Published> PublishedOf(const v1::TableSpec& spec) {
  Published published;
  if (spec.published().empty()) return published;
  absl::string_view name = spec.published();
  published.other_settings = absl::ConsumePrefix(&name, "other:");
  absl::StatusOr<std::vector<const PublishedFigure*>> found = PublishedTable(std::string(name));
  if (!found.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("table.published: ", std::string(found.status().message())));
  }
  published.figures = *std::move(found);
  return published;
}

// The measurements of the columns, each once, in order.
std::vector<std::string> MeasurementsOf(const v1::TableSpec& spec) {
  std::set<std::string> names;
  for (const v1::TableColumn& column : spec.columns()) names.insert(column.measurement());
  return {names.begin(), names.end()};
}

std::size_t NumberOf(const std::vector<std::string>& measurements, const std::string& name) {
  return static_cast<std::size_t>(std::lower_bound(measurements.begin(), measurements.end(), name) -
                                  measurements.begin());
}

// The columns of the view that the table needs. Axes are none: trials have their labels, and the name of an
// axis never reaches SQL.
std::set<std::string> ColumnsOf(const v1::TableSpec& spec, const Names& names) {
  std::set<std::string> columns;
  const auto need = [&](const std::string& name) {
    if (!names.IsAxis(name)) columns.insert(name);
  };
  for (const std::string& name : spec.rows()) need(name);
  for (const auto& [name, wanted] : spec.where()) need(name);
  for (const v1::TableColumn& column : spec.columns()) {
    for (const auto& [name, wanted] : column.where()) need(name);
  }
  return columns;
}

absl::Status CheckSize(std::size_t rows, const v1::TableSpec& spec) {
  const auto columns = static_cast<std::size_t>(spec.rows_size() + spec.columns_size());
  if (rows * columns <= Limits::kTableCellsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the table has ", rows, " rows of ", columns, " cells; at most ", Limits::kTableCellsMax,
                   " cells are made: name fewer axes in rows, or fewer columns"));
}

absl::StatusOr<std::vector<const TrialValues*>> Matching(const std::vector<const TrialValues*>& trials,
                                                         const Where& where, const Patience& patience) {
  std::vector<const TrialValues*> matching;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i % kTrialsBetweenChecks == 0) RETURN_IF_ERROR(patience.Check());
    if (Matches(*trials[i], where)) matching.push_back(trials[i]);
  }
  return matching;
}

// Names the trials of cells, unless they are too many: then of none, for a part would look like the whole.
class TrialNames {
 public:
  explicit TrialNames(v1::Table& table) : table_(table) {}

  void Add(const std::vector<const TrialValues*>& trials, v1::TableCell& cell) {
    names_ += trials.size();
    if (names_ > Limits::kTableTrialsMax) {
      if (!table_.has_trials_left_out()) RemoveAll();
      table_.set_trials_left_out(names_);
      return;
    }
    for (const TrialValues* trial : trials) cell.add_trials(trial->id);
  }

 private:
  void RemoveAll() {
    for (v1::TableRow& row : *table_.mutable_rows()) {
      for (v1::TableCell& cell : *row.mutable_cells()) {
        google::protobuf::RepeatedPtrField<std::string> none;  // Clear() would keep the memory.
        cell.mutable_trials()->Swap(&none);
      }
    }
  }

  v1::Table& table_;
  std::size_t names_ = 0;
};

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

absl::StatusOr<v1::Table> BuildTable(Reader& reader, SweepId sweep, const v1::TableSpec& asked,
                                     const std::function<bool()>& cancelled) {
  const Patience patience(cancelled);
  ASSIGN_OR_RETURN(const v1::SweepStatus status, reader.GetSweep(sweep));
  v1::TableSpec spec = asked;
  if (spec.columns_size() == 0)
    spec = status.spec().table().columns_size() > 0 ? status.spec().table() : DefaultTableSpec(status.spec());
  ASSIGN_OR_RETURN(const Names names, Names::Of(status.spec()));
  RETURN_IF_ERROR(CheckSpec(spec, names, patience));
  ASSIGN_OR_RETURN(const Published published, PublishedOf(spec));
  const std::vector<std::string> measurements = MeasurementsOf(spec);
  std::set<std::string> columns = ColumnsOf(spec, names);
  if (!published.figures.empty()) columns.insert(kSpecColumn);
  ASSIGN_OR_RETURN(const std::vector<TrialValues> trials, ReadTrials(reader, sweep, columns, measurements));
  std::vector<const TrialValues*> all;
  for (const TrialValues& trial : trials) all.push_back(&trial);
  ASSIGN_OR_RETURN(const std::vector<const TrialValues*> chosen, Matching(all, spec.where(), patience));
  Specs specs;
  if (!published.figures.empty()) {
    for (const TrialValues* trial : chosen) {
      ASSIGN_OR_RETURN(specs[trial], TrialSpecFromJson(SqlText(trial->columns.at(kSpecColumn))));
    }
  }
  const std::vector<Row> rows = GroupRows(chosen, spec, names);
  RETURN_IF_ERROR(CheckSize(rows.size(), spec));

  v1::Table table;
  table.set_title(spec.has_title() ? spec.title() : status.name());
  for (const std::string& name : spec.rows()) table.add_row_headings(name);
  for (const v1::TableColumn& column : spec.columns()) {
    table.add_column_headings(column.has_heading() ? column.heading() : column.measurement());
    table.add_decimals(column.decimals());
  }
  TrialNames trial_names(table);
  for (const auto& [labels, members] : rows) {
    v1::TableRow* row = table.add_rows();
    for (const std::string& label : labels) row->add_labels(label);
    for (const v1::TableColumn& column : spec.columns()) {
      ASSIGN_OR_RETURN(const std::vector<const TrialValues*> behind,
                       Matching(members, column.where(), patience));
      v1::TableCell* cell = row->add_cells();
      const MeasurementInfo* info = FindMeasurement(column.measurement());
      *cell = MakeCell(behind, NumberOf(measurements, column.measurement()),
                       info != nullptr && info->source == "train");
      if (!published.figures.empty()) AttachPublished(published, behind, specs, column.measurement(), cell);
      trial_names.Add(behind, *cell);
    }
  }
  return table;
}

}  // namespace inlier
