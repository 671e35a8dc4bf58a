#include "results/tables/table_builder.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "results/tables/cell_maker.h"
#include "results/tables/column_correlations.h"
#include "results/tables/comparison.h"
#include "results/tables/comparison_notes.h"
#include "results/tables/paired_results.h"
#include "results/tables/published_cells.h"
#include "results/tables/table_names.h"
#include "results/tables/trial_values.h"
#include "spec/schema/limits.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/default_table.h"
#include "spec/sweep/table_columns.h"

namespace inlier {
namespace {

using google::protobuf::Value;
using Where = google::protobuf::Map<std::string, Value>;

constexpr std::size_t kTrialsBetweenChecks = 64;

// Ends a table that takes too long or whose caller has gone.
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

// The measurements of the columns, each once, in order.
std::vector<std::string> MeasurementsOf(const v1::TableSpec& spec) {
  std::set<std::string> names;
  for (const v1::TableColumn& column : spec.columns()) {
    if (column.has_measurement()) names.insert(column.measurement());
    if (column.best_of().has_by()) names.insert(column.best_of().by());
  }
  return {names.begin(), names.end()};
}

MeasurementChoice ChoiceOf(const MeasurementList& known, const std::string& measurement,
                           const std::vector<std::string>& measurements) {
  const auto place = std::lower_bound(measurements.begin(), measurements.end(), measurement);
  const MeasurementInfo* info = known.Find(measurement);
  return {static_cast<std::size_t>(place - measurements.begin()), info->source == "train", info->better,
          measurement == "perplexity"};
}

// The content of each column; empty for a mean of columns.
std::vector<ColumnPlan> PlansOf(const v1::TableSpec& spec, const MeasurementList& known,
                                const std::vector<std::string>& measurements) {
  std::vector<ColumnPlan> plans;
  for (const v1::TableColumn& column : spec.columns()) {
    ColumnPlan& plan = plans.emplace_back();
    if (!column.has_measurement()) continue;
    plan.measurement = ChoiceOf(known, column.measurement(), measurements);
    plan.statistic = column.statistic();
    plan.best_over.assign(column.best_of().over().begin(), column.best_of().over().end());
    plan.best_by =
        column.best_of().has_by() ? ChoiceOf(known, column.best_of().by(), measurements) : plan.measurement;
    plan.mean_over.assign(column.mean_over().begin(), column.mean_over().end());
  }
  return plans;
}

// The columns of the view that the table needs, without axes, whose names never reach SQL.
std::set<std::string> ColumnsOf(const v1::TableSpec& spec, const TableNames& names,
                                const std::vector<v1::SweepSpec>& sweeps) {
  std::set<std::string> columns;
  const auto need = [&](const std::string& name) {
    if (!names.IsAxis(name)) columns.insert(name);
  };
  for (const std::string& name : spec.rows()) need(name);
  for (const auto& [name, wanted] : spec.where()) need(name);
  for (const v1::TableColumn& column : spec.columns()) {
    for (const auto& [name, wanted] : column.where()) need(name);
    for (const std::string& name : column.best_of().over()) need(name);
    for (const std::string& name : column.mean_over()) need(name);
  }
  for (const std::string& name : NoteColumns(sweeps)) need(name);
  return columns;
}

absl::Status CheckSize(std::size_t rows, const v1::TableSpec& spec) {
  const auto columns = static_cast<std::size_t>(spec.rows_size() + spec.columns_size());
  if (rows * columns <= Limits::kTableCellsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the table has ", rows, " rows of ", columns, " cells; at most ", Limits::kTableCellsMax,
                   " cells are made: name fewer axes in rows, or fewer columns"));
}

absl::StatusOr<Trials> Matching(const Trials& trials, const Where& where, const Patience& patience) {
  Trials matching;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i % kTrialsBetweenChecks == 0) RETURN_IF_ERROR(patience.Check());
    if (Matches(*trials[i], where)) matching.push_back(trials[i]);
  }
  return matching;
}

// Names the trials of cells, with their results, unless they are too many: then of none, for a part would mislead.
class TrialNames {
 public:
  explicit TrialNames(v1::Table& table) : table_(table) {}

  void Add(const Trials& trials, v1::TableCell& cell) {
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
    google::protobuf::RepeatedPtrField<std::string>().Swap(
        cell.mutable_trials());  // Clear() keeps the memory.
    google::protobuf::RepeatedField<double>().Swap(cell.mutable_values());
    google::protobuf::RepeatedField<double>().Swap(cell.mutable_training_means());
  }

  v1::Table& table_;
  std::size_t names_ = 0;
};

bool IsImported(const v1::SweepStatus& sweep) { return sweep.spec().has_imported(); }

// Everything but the rows.
v1::Table TableWithoutRows(const v1::TableSpec& spec, const std::vector<v1::SweepStatus>& sweeps,
                           const TableNames& names) {
  v1::Table table;
  table.set_title(spec.has_title() ? spec.title() : sweeps.front().name());
  if (std::ranges::all_of(sweeps, IsImported)) table.mutable_title()->append(" (imported)");
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

// Imported numbers and ours are never in one row: the first heading tells them apart.
absl::Status KeepOriginsApart(const std::vector<v1::SweepStatus>& sweeps, const TableNames& names,
                              v1::TableSpec& spec) {
  if (std::ranges::all_of(sweeps, IsImported) || std::ranges::none_of(sweeps, IsImported))
    return absl::OkStatus();
  if (names.IsAxis(kOriginColumn))
    return absl::InvalidArgumentError(
        absl::StrCat("the table is of imported sweeps and of others, which its heading ", kOriginColumn,
                     " tells apart, and an axis has that name; give the axis another one"));
  if (std::ranges::find(spec.rows(), kOriginColumn) != spec.rows().end()) return absl::OkStatus();
  spec.add_rows(kOriginColumn);
  std::rotate(spec.mutable_rows()->begin(), spec.mutable_rows()->end() - 1, spec.mutable_rows()->end());
  return absl::OkStatus();
}

// Makes the cells of columns that are means of others, whose trials are `behind`.
void AddMeansOfColumns(const v1::TableSpec& spec, const std::vector<Trials>& behind,
                       const PublishedCells& published, TrialNames& trial_names, v1::TableRow* row) {
  for (int column = 0; column < spec.columns_size(); ++column) {
    if (spec.columns(column).mean_of_size() == 0) continue;
    std::vector<std::vector<ShownCell>> parts;
    Trials trials;
    std::size_t with_figure = 0;
    for (const std::vector<int>& part : MeanParts(spec, spec.columns(column))) {
      std::vector<ShownCell>& shown = parts.emplace_back();
      for (const int of_part : part) {
        const v1::TableCell& cell = row->cells(of_part);
        shown.push_back({&cell, spec.columns(of_part).statistic()});
        if (cell.has_published_mean()) ++with_figure;
        const Trials& more = behind[static_cast<std::size_t>(of_part)];
        trials.insert(trials.end(), more.begin(), more.end());
      }
    }
    v1::TableCell* cell = row->mutable_cells(column);
    *cell = MeanOfCells(parts);
    published.AttachAverage(trials, with_figure, cell);
    trial_names.Add(trials, *cell);
  }
}

}  // namespace

absl::StatusOr<v1::Table> BuildTable(Reader& reader, const std::vector<SweepId>& asked_sweeps,
                                     const v1::TableSpec& asked, const std::function<bool()>& cancelled) {
  const Patience patience(cancelled);
  ASSIGN_OR_RETURN(const std::vector<v1::SweepStatus> sweeps, ReadSweeps(reader, asked_sweeps));
  std::vector<v1::SweepSpec> specs_of_sweeps;
  for (const v1::SweepStatus& sweep : sweeps) specs_of_sweeps.push_back(sweep.spec());
  v1::TableSpec spec = TableAskedFor(asked, specs_of_sweeps.front());
  ASSIGN_OR_RETURN(const TableNames names, TableNames::Of(specs_of_sweeps));
  RETURN_IF_ERROR(KeepOriginsApart(sweeps, names, spec));
  RETURN_IF_ERROR(names.Resolve(spec, [&patience] { return patience.Check(); }));
  ASSIGN_OR_RETURN(PublishedCells published, PublishedCells::Of(spec));
  const std::vector<std::string> measurements = MeasurementsOf(spec);
  const std::vector<ColumnPlan> plans = PlansOf(spec, names.measurements(), measurements);
  std::set<std::string> columns = ColumnsOf(spec, names, specs_of_sweeps);
  if (published.any()) columns.insert(PublishedCells::kSpecColumn);
  std::size_t bytes = 0;
  std::vector<std::vector<TrialValues>> trials;
  Trials all;
  std::set<std::string> evaluation_axes;
  for (const v1::SweepStatus& sweep : sweeps) {
    ASSIGN_OR_RETURN(trials.emplace_back(),
                     ReadTrials(reader, *SweepId::Parse(sweep.sweep_id()), columns, measurements, bytes));
    const std::size_t before = all.size();
    for (const TrialValues& trial : trials.back()) all.push_back(&trial);
    if (!spec.baseline().empty())
      evaluation_axes.merge(
          AxesOfEvaluations({all.begin() + static_cast<std::ptrdiff_t>(before), all.end()}));
  }
  ASSIGN_OR_RETURN(const Trials chosen, Matching(all, spec.where(), patience));
  RETURN_IF_ERROR(published.ReadSpecs(chosen));
  const std::vector<TrialGroup> rows = GroupTrials(chosen, {spec.rows().begin(), spec.rows().end()}, names);
  RETURN_IF_ERROR(CheckSize(rows.size(), spec));

  v1::Table table = TableWithoutRows(spec, sweeps, names);
  TrialNames trial_names(table);
  const auto made = [&](int row, int column) -> absl::StatusOr<MadeCell> {
    ASSIGN_OR_RETURN(const Trials found, Matching(rows[static_cast<std::size_t>(row)].items,
                                                  spec.columns(column).where(), patience));
    return MakeCell(found, plans[static_cast<std::size_t>(column)], names);
  };
  for (const TrialGroup& row : rows) {
    v1::TableRow* added = table.add_rows();
    for (const std::string& label : row.labels) added->add_labels(label);
    std::vector<Trials> behind(plans.size());
    for (int column = 0; column < spec.columns_size(); ++column) {
      v1::TableCell* cell = added->add_cells();
      if (spec.columns(column).mean_of_size() > 0) continue;
      ASSIGN_OR_RETURN(MadeCell one, made(table.rows_size() - 1, column));
      *cell = std::move(one.cell);
      behind[static_cast<std::size_t>(column)] = std::move(one.trials);
      published.Attach(behind[static_cast<std::size_t>(column)], spec.columns(column).measurement(), cell);
      trial_names.Add(behind[static_cast<std::size_t>(column)], *cell);
    }
    AddMeansOfColumns(spec, behind, published, trial_names, added);
  }
  const std::vector<RowGroup> groups = GroupsOfRows(spec, table);
  if (spec.bold()) MarkBest(spec, names.measurements(), groups, table);
  const CellTrials behind = [&](int row, int column) -> absl::StatusOr<Trials> {
    if (spec.columns(column).mean_of_size() > 0) return Trials();
    ASSIGN_OR_RETURN(MadeCell cell, made(row, column));
    return std::move(cell.trials);
  };
  if (!spec.baseline().empty())
    RETURN_IF_ERROR(CompareWithBaseline({spec, groups, plans, evaluation_axes, behind}, table));
  AddTrialNotes(chosen, table);
  RETURN_IF_ERROR(CorrelateColumns(spec, plans, behind, table));
  return table;
}

}  // namespace inlier
