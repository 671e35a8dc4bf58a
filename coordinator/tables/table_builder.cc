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
#include "coordinator/tables/comparison.h"
#include "coordinator/tables/published.h"
#include "coordinator/tables/table_names.h"
#include "coordinator/tables/trial_values.h"
#include "spec/schema/limits.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/default_table.h"
#include "spec/trial/canonical.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

using google::protobuf::Value;
using Where = google::protobuf::Map<std::string, Value>;

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
                           const TableNames& names) {
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

// The measurement of each column.
std::vector<MeasurementChoice> ChoicesOf(const v1::TableSpec& spec,
                                         const std::vector<std::string>& measurements) {
  std::vector<MeasurementChoice> choices;
  for (const v1::TableColumn& column : spec.columns()) {
    const auto place = std::lower_bound(measurements.begin(), measurements.end(), column.measurement());
    const MeasurementInfo* info = FindMeasurement(column.measurement());
    choices.push_back(
        {static_cast<std::size_t>(place - measurements.begin()), info->source == "train", info->better});
  }
  return choices;
}

// The columns of the view that the table needs. Axes are none: trials have their labels, and the name of an
// axis never reaches SQL.
std::set<std::string> ColumnsOf(const v1::TableSpec& spec, const TableNames& names) {
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

// Names the trials of cells, unless they are too many: then of none, for a part would look like the whole. The
// cells' single results go with them.
class TrialNames {
 public:
  explicit TrialNames(v1::Table& table) : table_(table) {}

  void Add(const std::vector<const TrialValues*>& trials, v1::TableCell& cell) {
    names_ += trials.size();
    if (names_ > Limits::kTableTrialsMax) {
      if (!table_.has_trials_left_out()) RemoveAll();
      table_.set_trials_left_out(names_);
      RemoveFrom(cell);
      return;
    }
    for (const TrialValues* trial : trials) cell.add_trials(trial->id);
  }

 private:
  void RemoveAll() {
    for (v1::TableRow& row : *table_.mutable_rows()) {
      for (v1::TableCell& cell : *row.mutable_cells()) RemoveFrom(cell);
    }
  }
  static void RemoveFrom(v1::TableCell& cell) {
    google::protobuf::RepeatedPtrField<std::string> no_trials;  // Clear() would keep the memory.
    google::protobuf::RepeatedField<double> no_values;
    cell.mutable_trials()->Swap(&no_trials);
    cell.mutable_values()->Swap(&no_values);
  }

  v1::Table& table_;
  std::size_t names_ = 0;
};

std::string HeadingOf(const v1::TableColumn& column) {
  if (column.has_heading()) return column.heading();
  if (!column.has_statistic() || column.statistic() == v1::TableColumn::MEAN) return column.measurement();
  return absl::StrCat(column.measurement(),
                      column.statistic() == v1::TableColumn::MEDIAN ? " median" : " best");
}

// Everything but the rows.
v1::Table TableWithoutRows(const v1::TableSpec& spec, const std::vector<v1::SweepStatus>& sweeps,
                           const TableNames& names) {
  v1::Table table;
  table.set_title(spec.has_title() ? spec.title() : sweeps.front().name());
  table.set_caption(spec.has_caption() ? spec.caption() : table.title());
  table.set_label(spec.has_label() ? spec.label() : absl::StrCat("tab:", sweeps.front().name()));
  for (const v1::SweepStatus& sweep : sweeps) table.add_sweeps(sweep.sweep_id());
  for (const std::string& name : spec.rows()) {
    table.add_row_headings(name);
    table.add_row_symbols(names.SymbolOf(name));
    if (const auto label = spec.baseline().find(name); label != spec.baseline().end())
      table.add_baseline(label->second.has_null_value() ? "" : ValueText(label->second));
  }
  if (!spec.baseline().empty()) table.set_confidence(spec.confidence());
  *table.mutable_columns() = spec.columns();
  for (const v1::TableColumn& column : spec.columns()) {
    table.add_column_headings(HeadingOf(column));
    table.add_decimals(column.decimals());
  }
  return table;
}

// The sweeps, each once.
absl::StatusOr<std::vector<v1::SweepStatus>> ReadSweeps(Reader& reader, const std::vector<SweepId>& sweeps) {
  std::vector<v1::SweepStatus> found;
  std::set<SweepId> seen;
  for (const SweepId sweep : sweeps) {
    if (!seen.insert(sweep).second) continue;
    ASSIGN_OR_RETURN(found.emplace_back(), reader.GetSweep(sweep));
  }
  return found;
}

}  // namespace

absl::StatusOr<v1::Table> BuildTable(Reader& reader, const std::vector<SweepId>& asked_sweeps,
                                     const v1::TableSpec& asked, const std::function<bool()>& cancelled) {
  const Patience patience(cancelled);
  ASSIGN_OR_RETURN(const std::vector<v1::SweepStatus> sweeps, ReadSweeps(reader, asked_sweeps));
  std::vector<v1::SweepSpec> specs_of_sweeps;
  for (const v1::SweepStatus& sweep : sweeps) specs_of_sweeps.push_back(sweep.spec());
  const v1::TableSpec spec = asked.columns_size() > 0 ? asked : OwnOrDefaultTable(specs_of_sweeps.front());
  ASSIGN_OR_RETURN(const TableNames names, TableNames::Of(specs_of_sweeps));
  RETURN_IF_ERROR(names.Check(spec, [&patience] { return patience.Check(); }));
  ASSIGN_OR_RETURN(const Published published, PublishedOf(spec));
  const std::vector<std::string> measurements = MeasurementsOf(spec);
  const std::vector<MeasurementChoice> choices = ChoicesOf(spec, measurements);
  std::set<std::string> columns = ColumnsOf(spec, names);
  if (!published.figures.empty()) columns.insert(kSpecColumn);
  std::size_t bytes = 0;
  std::vector<std::vector<TrialValues>> trials;
  std::vector<const TrialValues*> all;
  for (const v1::SweepStatus& sweep : sweeps) {
    ASSIGN_OR_RETURN(trials.emplace_back(),
                     ReadTrials(reader, *SweepId::Parse(sweep.sweep_id()), columns, measurements, bytes));
    for (const TrialValues& trial : trials.back()) all.push_back(&trial);
  }
  ASSIGN_OR_RETURN(const std::vector<const TrialValues*> chosen, Matching(all, spec.where(), patience));
  Specs specs;
  if (!published.figures.empty()) {
    for (const TrialValues* trial : chosen) {
      ASSIGN_OR_RETURN(specs[trial], TrialSpecFromJson(SqlText(trial->columns.at(kSpecColumn))));
    }
  }
  const std::vector<Row> rows = GroupRows(chosen, spec, names);
  RETURN_IF_ERROR(CheckSize(rows.size(), spec));

  v1::Table table = TableWithoutRows(spec, sweeps, names);
  TrialNames trial_names(table);
  const CellTrials behind = [&](int row, int column) {
    return Matching(rows[static_cast<std::size_t>(row)].second, spec.columns(column).where(), patience);
  };
  for (const auto& [labels, members] : rows) {
    v1::TableRow* row = table.add_rows();
    for (const std::string& label : labels) row->add_labels(label);
    for (int column = 0; column < spec.columns_size(); ++column) {
      ASSIGN_OR_RETURN(const std::vector<const TrialValues*> found, behind(table.rows_size() - 1, column));
      v1::TableCell* cell = row->add_cells();
      *cell = MakeCell(found, choices[static_cast<std::size_t>(column)]);
      if (!published.figures.empty())
        AttachPublished(published, found, specs, spec.columns(column).measurement(), cell);
      trial_names.Add(found, *cell);
    }
  }
  const std::vector<RowGroup> groups = GroupsOfRows(spec, table);
  if (spec.bold()) MarkBest(spec, groups, table);
  if (!spec.baseline().empty()) RETURN_IF_ERROR(CompareWithBaseline(spec, groups, choices, behind, table));
  return table;
}

}  // namespace inlier
