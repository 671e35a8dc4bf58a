// Runs of a CSV file, a row each. Which columns are settings and which are results is what the mapping says, else what the headings
// of an export of W&B or MLflow say, else a guess by their names and cells; a column that could be either is refused.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/import/csv_table.h"
#include "cli/import/foreign_runs.h"
#include "cli/import/measurement_words.h"
#include "cli/import/wandb_chart.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

using google::protobuf::Value;

enum class ColumnUse { kOpen, kRunName, kState, kSetting, kResult, kLeftOut };

struct CsvColumn {
  ColumnUse use = ColumnUse::kOpen;
  std::string name;  // Without "params.".
  std::size_t numbers = 0, others = 0;
  const CsvTable::Row* other = nullptr;  // The first that has no number there.
};

bool IsNoValue(const std::string& cell) {
  return cell.empty() || cell == "null" || cell == "None" || cell == "NA" || cell == "N/A";
}

class CsvRuns {
 public:
  CsvRuns(const CsvTable& table, const std::string& file, const v1::ImportMapping& mapping)
      : table_(table), file_(file), mapping_(mapping), columns_(table.headings.size()) {}

  absl::StatusOr<ForeignRuns> Read() {
    if (mapping_.has_run()) RETURN_IF_ERROR(CheckHas("run", mapping_.run()));
    for (const std::string& name : mapping_.parameters()) RETURN_IF_ERROR(CheckHas("parameters", name));
    for (const std::string& name : mapping_.measurements()) RETURN_IF_ERROR(CheckHas("measurements", name));
    CountCells();
    TakeMapping();
    if (table_.Find("run_id") < columns_.size() && HasPrefixed()) {
      TakeMlflow();
    } else if (Has("Name") && Has("State") && (Has("Created") || Has("Runtime"))) {
      TakeWandb();
    }
    FindRunNames();
    RETURN_IF_ERROR(Guess());
    for (const CsvTable::Row& row : table_.rows) RETURN_IF_ERROR(AddRun(row));
    AddRemarks();
    return std::move(read_);
  }

 private:
  bool Has(std::string_view heading) const { return table_.Find(heading) < columns_.size(); }
  absl::Status CheckHas(const char* option, const std::string& name) const {
    if (Has(name) || Has("params." + name) || Has("metrics." + name)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("--", option, " ", name, ": ", file_,
                                                   " has no such column", DidYouMean(name, table_.headings)));
  }
  bool HasPrefixed() const {
    return std::ranges::any_of(table_.headings, [](const std::string& heading) {
      return absl::StartsWith(heading, "params.") || absl::StartsWith(heading, "metrics.");
    });
  }
  std::string PlaceOf(const CsvTable::Row& row, std::size_t column) const {
    return absl::StrCat(file_, ":", row.line, ": column ", Quoted(table_.headings[column]));
  }

  void CountCells() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].name = table_.headings[i];
      for (const CsvTable::Row& row : table_.rows) {
        if (IsNoValue(row.cells[i])) continue;
        if (ForeignNumber(row.cells[i])) {
          ++columns_[i].numbers;
        } else if (columns_[i].others++ == 0) {
          columns_[i].other = &row;
        }
      }
    }
  }

  void TakeMapping() {
    const auto take = [this](const std::string& heading, ColumnUse use) {
      if (Has(heading)) columns_[table_.Find(heading)].use = use;
    };
    for (const std::string& name : mapping_.parameters()) take(name, ColumnUse::kSetting);
    for (const std::string& name : mapping_.measurements()) take(name, ColumnUse::kResult);
    take(mapping_.run(), ColumnUse::kRunName);
    take(mapping_.seed(), ColumnUse::kSetting);
    for (CsvColumn& column : columns_) {
      const bool index = column.name.empty();  // Of pandas.
      if (index || Ignores(mapping_, column.name)) column.use = ColumnUse::kLeftOut;
    }
  }

  void Take(std::string_view heading, ColumnUse use) {
    if (!Has(heading)) return;
    CsvColumn& column = columns_[table_.Find(heading)];
    if (column.use == ColumnUse::kOpen) column.use = use;
  }

  void TakeMlflow() {
    Take("tags.mlflow.runName", ColumnUse::kRunName);
    Take("status", ColumnUse::kState);
    for (CsvColumn& column : columns_) {
      if (column.use != ColumnUse::kOpen) continue;
      const std::string name = column.name;
      if (absl::StartsWith(name, "params.")) {
        column.use = ColumnUse::kSetting;
        column.name = name.substr(7);
      } else if (absl::StartsWith(name, "metrics.")) {
        column.use = ColumnUse::kResult;
        column.name = name.substr(8);
      } else {
        column.use = ColumnUse::kLeftOut;
      }
    }
  }

  void TakeWandb() {
    Take("Name", ColumnUse::kRunName);
    Take("State", ColumnUse::kState);
    for (const char* heading :
         {"ID", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "Description", "Updated", "End Time",
          "Hostname", "GitHub", "Start Time", "Group", "Job Type"})
      Take(heading, ColumnUse::kLeftOut);
  }

  bool IsUnique(std::size_t column) const {
    std::set<std::string> seen;
    return std::ranges::all_of(table_.rows, [&](const CsvTable::Row& row) {
      return !row.cells[column].empty() && seen.insert(row.cells[column]).second;
    });
  }

  void FindRunNames() {
    const auto is_run = [](const CsvColumn& column) { return column.use == ColumnUse::kRunName; };
    for (const char* heading : {"run", "Run", "run_name", "name", "Name", "run_id", "id", "ID"}) {
      if (std::ranges::any_of(columns_, is_run)) return;
      const std::size_t at = table_.Find(heading);
      if (at < columns_.size() && columns_[at].use == ColumnUse::kOpen && IsUnique(at))
        columns_[at].use = ColumnUse::kRunName;
    }
  }

  absl::Status Guess() {
    std::vector<std::string> open;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      CsvColumn& column = columns_[i];
      if (column.use != ColumnUse::kOpen) continue;
      const NameKind kind = KindOfName(column.name);
      if (column.numbers + column.others == 0) {
        column.use = ColumnUse::kLeftOut;
      } else if (column.others > 0 && column.numbers > 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            PlaceOf(*column.other, i), ": ", Quoted(column.other->cells[i]), " is not a number, and ",
            column.numbers, column.numbers == 1 ? " other row has one" : " other rows have one",
            "; correct it, or say what the column is: --parameters, --measurements or --ignore ",
            column.name));
      } else if (column.others > 0 && kind == NameKind::kResult) {
        return absl::InvalidArgumentError(absl::StrCat(PlaceOf(*column.other, i), ": ",
                                                       Quoted(column.other->cells[i]),
                                                       " is not a number, and the heading is that of a "
                                                       "result; write numbers as 1500 or 0.95, or say what "
                                                       "the column is: --parameters or --ignore ",
                                                       column.name));
      } else if (column.others > 0 || kind == NameKind::kSetting || mapping_.measurements_size() > 0) {
        column.use = ColumnUse::kSetting;
      } else if (kind == NameKind::kResult || mapping_.parameters_size() > 0) {
        column.use = ColumnUse::kResult;
      } else {
        open.push_back(column.name);
      }
    }
    if (!open.empty())
      return absl::InvalidArgumentError(
          absl::StrCat(file_, ":1: whether ", absl::StrJoin(open, ", "),
                       open.size() == 1 ? " is a setting or a result" : " are settings or results",
                       " cannot be told from the heading; name all results with --measurements, or settings "
                       "with --parameters, or "
                       "leave columns out with --ignore"));
    const bool results = std::ranges::any_of(
        columns_, [](const CsvColumn& column) { return column.use == ColumnUse::kResult; });
    if (results) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ":1: no column is a result; name those that are with --measurements"));
  }

  absl::Status AddRun(const CsvTable::Row& row) {
    ForeignRun run;
    run.place = absl::StrCat(file_, ":", row.line);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const CsvColumn& column = columns_[i];
      const std::string& cell = row.cells[i];
      if (column.use == ColumnUse::kRunName) run.name = cell;
      if (column.use == ColumnUse::kState && !absl::EqualsIgnoreCase(cell, "finished"))
        run.unfinished = cell.empty() ? "of unknown state" : absl::AsciiStrToLower(cell);
      const bool texts = column.others > 0;
      if (column.use == ColumnUse::kSetting && !(texts ? cell.empty() : IsNoValue(cell)))
        run.parameters[column.name] = ForeignSetting(cell);
      if (column.use != ColumnUse::kResult || IsNoValue(cell)) continue;
      const std::optional<double> number = ForeignNumber(cell);
      if (!number)
        return absl::InvalidArgumentError(
            absl::StrCat(PlaceOf(row, i), ": ", Quoted(cell),
                         " is not a number, as results are; correct it, or --ignore ", column.name));
      run.results[column.name] = *number;
    }
    read_.runs.push_back(std::move(run));
    return absl::OkStatus();
  }

  void AddRemarks() {
    std::vector<std::string> left_out;
    for (const CsvColumn& column : columns_) {
      if (column.use == ColumnUse::kRunName)
        read_.remarks.push_back(absl::StrCat("the runs are named by the column ", Quoted(column.name)));
      if (column.use == ColumnUse::kLeftOut)
        left_out.push_back(column.name.empty() ? "the one without a heading" : column.name);
    }
    if (!left_out.empty()) read_.remarks.push_back("left out: " + ListOfNames(left_out));
  }

  const CsvTable& table_;
  const std::string& file_;
  const v1::ImportMapping& mapping_;
  std::vector<CsvColumn> columns_;
  ForeignRuns read_;
};

}  // namespace

absl::StatusOr<ForeignRuns> ReadCsvRuns(SourceFiles& files, const v1::ImportMapping& mapping) {
  ASSIGN_OR_RETURN(const MappedFile file, files.Open(files.root()));
  const std::string name = files.root().string();
  ASSIGN_OR_RETURN(CsvTable table, ParseCsv(file.bytes(), name, mapping.delimiter()));
  ASSIGN_OR_RETURN(ForeignRuns read, IsWandbChart(table) ? RunsOfWandbChart(table, name)
                                                         : CsvRuns(table, name, mapping).Read());
  if (!file.bytes().ends_with('\n'))
    read.remarks.push_back("the last line has no end: is the file complete?");
  return read;
}

}  // namespace inlier
