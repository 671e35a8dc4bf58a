#include "cli/tables/table_printer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/status.h"
#include "cli/query_rows.h"
#include "cli/sweeps/axis_arguments.h"
#include "cli/tables/table_explanation.h"
#include "cli/tables/table_formats.h"
#include "cli/tables/table_writer.h"
#include "nlohmann/json.hpp"
#include "spec/schema/did_you_mean.h"
#include "spec/sweep/default_table.h"
#include "spec/sweep/point_labels.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0')
      return strcasestr(value, "utf-8") != nullptr || strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

constexpr char kFormats[] = "text, markdown, csv, latex, json or html";

absl::StatusOr<TableFormat> FormatOf(const Session& session, const TableOrder& order) {
  if (session.json) return TableFormat::kJson;
  if (!order.format.empty()) {
    if (const auto format = ParseTableFormat(order.format)) return *format;
    return absl::InvalidArgumentError(
        absl::StrCat("--format ", order.format, " is not known; use ", kFormats));
  }
  if (order.output.empty()) return TableFormat::kText;
  const std::string suffix = fs::path(order.output).extension().string();
  if (const auto format = ParseTableFormat(suffix.empty() ? suffix : suffix.substr(1))) return *format;
  return absl::InvalidArgumentError(
      absl::StrCat("--output ", order.output, ": no format has this suffix; add --format ", kFormats));
}

// The name of a sweep, of its file, or itself.
absl::StatusOr<std::string> SweepOf(const std::string& text) {
  const fs::path path(text);
  std::error_code error;
  if ((path.extension() != ".yaml" && path.extension() != ".yml") || !fs::exists(path, error)) return text;
  ASSIGN_OR_RETURN(const v1::SweepSpec sweep, ReadSweepFile(path, {}, ""));
  return sweep.name();
}

void AddNew(const std::string& label, std::vector<std::string>* labels) {
  if (std::ranges::find(*labels, label) == labels->end()) labels->push_back(label);
}

// The values in a column of the view trials, of the trials of the sweeps.
absl::StatusOr<std::vector<std::string>> ValuesOfColumn(Session& session,
                                                        const std::vector<v1::SweepStatus>& sweeps,
                                                        const std::string& column) {
  std::vector<std::string> ids;
  for (const v1::SweepStatus& sweep : sweeps) ids.push_back(sweep.sweep_id());
  ASSIGN_OR_RETURN(const v1::QueryResponse found,
                   QueryRows(session, absl::StrCat("SELECT DISTINCT \"", column,
                                                   "\" FROM trials WHERE withdrawn = 0 AND sweep_id IN (",
                                                   SqlList(ids), ") ORDER BY 1")));
  std::vector<std::string> values;
  for (const v1::QueryRow& row : found.rows()) values.push_back(ExactText(row.values(0)));
  return values;
}

// The labels of an axis, or the values of a column.
absl::StatusOr<std::vector<std::string>> LabelsOf(Session& session,
                                                  const std::vector<v1::SweepStatus>& sweeps,
                                                  const std::string& name) {
  std::vector<std::string> labels, known;
  bool is_axis = false, is_column = false, drawn = false;
  for (const v1::SweepStatus& sweep : sweeps) {
    ASSIGN_OR_RETURN(const SweepGrid grid, SweepGrid::Create(sweep.spec()));
    for (const AxisInfo& axis : grid.axes()) {
      AddNew(axis.name, &known);
      if (axis.name != name) continue;
      is_axis = true;
      drawn |= !axis.range.empty();
      for (const std::string& label : axis.labels) AddNew(label, &labels);
    }
    for (const SpecColumn& column : grid.form().columns()) {
      AddNew(column.name, &known);
      is_column |= column.name == name;
    }
  }
  if (drawn) {
    return absl::InvalidArgumentError(
        absl::StrCat("--by ", name, ": the axis has a range, not labels that could head columns"));
  }
  if (is_axis) return labels;
  if (is_column) return ValuesOfColumn(session, sweeps, name);
  return absl::InvalidArgumentError(
      absl::StrCat("--by ", name, ": neither an axis of the sweep nor a column of the view trials",
                   DidYouMean(name, known)));
}

absl::StatusOr<v1::Table> RequestTable(Session& session, const TableOrder& order) {
  v1::BuildTableRequest request;
  std::vector<std::string> names;
  for (const std::string& sweep : order.sweeps) {
    ASSIGN_OR_RETURN(names.emplace_back(), SweepOf(sweep));
  }
  request.set_sweep(names.front());
  request.mutable_more_sweeps()->Assign(names.begin() + 1, names.end());
  if (order.spec.has_value()) *request.mutable_table() = *order.spec;
  if (order.flags.any()) {
    std::vector<v1::SweepStatus> sweeps;
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(sweeps.emplace_back(), session.GetSweep(name));
    }
    v1::TableSpec& spec = *request.mutable_table();
    spec = TableAskedFor(spec, sweeps.front().spec());
    std::vector<std::string> axes;
    for (const v1::SweepStatus& sweep : sweeps) {
      for (const std::string& axis : AxisNames(sweep.spec())) AddNew(axis, &axes);
    }
    RETURN_IF_ERROR(ApplyTableFlags(order.flags, &spec, axes));
    for (const std::string& axis : SplitNames(order.flags.by, axes)) {
      ASSIGN_OR_RETURN(const std::vector<std::string> labels, LabelsOf(session, sweeps, axis));
      SplitColumns(axis, labels, &spec);
    }
  }
  return session.Call(&SweepStub::BuildTable, request, 120);
}

// Runs that several of the table's imports have by the same name: rows that are alike count them together.
std::string NoteOnSameRuns(Session& session, const v1::Table& table) {
  if (table.sweeps_size() < 2) return "";
  const auto rows = QueryRows(
      session, absl::StrCat("SELECT count(*), min(run) FROM (SELECT run FROM results WHERE origin = "
                            "'imported' AND withdrawn = 0 AND sweep_id IN (",
                            SqlList({table.sweeps().begin(), table.sweeps().end()}),
                            ") GROUP BY run HAVING count(DISTINCT sweep_id) > 1)"));
  if (!rows.ok() || rows->rows_size() == 0 || ExactText(rows->rows(0).values(0)) == "0") return "";
  const v1::QueryRow& row = rows->rows(0);
  return absl::StrCat("runs of the same name are in several of these imports (", ExactText(row.values(0)),
                      ", such as ", row.values(1).text(),
                      "): where they are the same runs the table counts them twice; name one import alone");
}

}  // namespace

absl::Status PrintTable(Session& session, const TableOrder& order) {
  ASSIGN_OR_RETURN(const TableFormat format, FormatOf(session, order));
  std::error_code error;
  if (!order.output.empty() && !order.force && fs::exists(order.output, error))
    return absl::AlreadyExistsError(absl::StrCat(order.output, ": is there already; --force replaces it"));
  ASSIGN_OR_RETURN(const v1::Table table, RequestTable(session, order));
  if (!session.quiet) PrintNote(NoteOnSameRuns(session, table));
  if (!order.explain.empty()) {
    ASSIGN_OR_RETURN(const CellPlace place, FindCell(table, order.explain));
    return ExplainCell(session, table, place);
  }
  if (order.differences && table.baseline().empty())
    return absl::InvalidArgumentError("--differences: the table has no baseline; add --baseline AXIS=LABEL");
  if (order.differences &&
      std::ranges::none_of(table.rows(), [](const v1::TableRow& row) { return row.has_baseline_row(); })) {
    return absl::InvalidArgumentError(
        absl::StrCat("--differences: ", absl::StrJoin(table.comparison_notes(), "; ")));
  }
  TableStyle style;
  style.differences = order.differences;
  const auto written = [&] {
    std::string text = WriteTable(table, format, style);
    const std::string lacking = format == TableFormat::kLatex ? CharactersWithoutPdfLatex(text) : "";
    if (!lacking.empty())
      PrintError(
          absl::StrCat("pdfLaTeX has no character for ", lacking, ": compile with LuaLaTeX or XeLaTeX"));
    return text;
  };
  if (order.output.empty()) {
    style.utf8 = format != TableFormat::kText || LocaleIsUtf8();
    style.terminal = StdoutIsTerminal();
    style.width = style.terminal ? TerminalWidth() : 0;
    PrintExact(written());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(WriteFileAtomically(order.output, written()));
  if (session.mode() == OutputMode::kJson) PrintJson(nlohmann::json{{"file", order.output}}, -1);
  if (session.people()) Print(absl::StrCat("written to ", order.output, "\n"));
  return absl::OkStatus();
}

}  // namespace inlier
