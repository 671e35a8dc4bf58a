#include "spec/program/program_columns.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/sorted_map.h"
#include "base/utf8.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

std::string JsonPathOf(const std::string& name, const v1::ProgramParameter& parameter) {
  return absl::StrCat(
      "$.", parameter.read_by() == v1::ProgramParameter::EVALUATION ? "program_evaluation" : "program", ".",
      parameter.incidental() ? "incidental" : "parameters", ".\"", name, "\"");
}

auto FindNamed(auto& columns, const std::string& name) {
  return std::ranges::find_if(
      columns, [&](const SpecColumn& column) { return absl::EqualsIgnoreCase(column.name, name); });
}

void AddParameters(const v1::ProgramDescription& program, std::size_t columns_max,
                   std::vector<SpecColumn>& columns) {
  for (const auto& [name, parameter] : Sorted(program.parameters())) {
    const std::string column = ColumnOf(name, parameter);
    auto at = FindNamed(columns, column);
    if (at == columns.end()) {
      if (columns.size() >= columns_max) continue;
      at = columns.insert(at, {column, {}, {}});
    }
    const std::string path = JsonPathOf(name, parameter);
    if (std::ranges::find(at->json_paths, path) == at->json_paths.end() &&
        at->json_paths.size() < kColumnPathsMax)
      at->json_paths.push_back(path);
  }
}

std::vector<std::string> LeftOut(const std::vector<SpecColumn>& columns,
                                 const v1::ProgramDescription& program) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : Sorted(program.parameters())) {
    if (FindNamed(columns, ColumnOf(name, parameter)) == columns.end()) names.push_back(name);
  }
  return names;
}

std::string NoteOn(const v1::ProgramDescription& program, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  const auto shown = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown));
  return absl::StrCat("the views have columns for ", kProgramColumnsMax,
                      " parameters of programs, and none for ", absl::StrJoin(names.begin(), shown, ", "),
                      shown == names.end() ? "" : absl::StrCat(" and ", names.end() - shown, " more"), " of ",
                      program.name(), "; query it as spec->>'",
                      JsonPathOf(names[0], program.parameters().at(names[0])), "' of the view trials");
}

// What has the column already that a program's parameter or measurement is to have; "": nothing.
std::string OwnerOf(const std::string& column, bool of_measurement) {
  const std::string lower = absl::AsciiStrToLower(column);
  if (lower == "seed" || std::ranges::find(FixedColumns(), lower) != FixedColumns().end())
    return "is a column of the views already";
  for (const SpecColumn& ours : SpecColumns()) {
    if (ours.name == lower && of_measurement) return "is the column of a parameter of inlier's models";
  }
  const MeasurementInfo* measurement = of_measurement ? nullptr : FindMeasurement(lower);
  return measurement == nullptr || measurement->axis == "site" || !measurement->final
             ? ""
             : "is the column of a measurement";
}

}  // namespace

const std::vector<std::string>& FixedColumns() {
  static const std::vector<std::string> names = {
      "trial",  "sweep",           "sweep_id",    "state",          "label",           "labels",
      "origin", "effective_gamma", "message",     "point",          "withdrawn",       "train_stage",
      "spec",   "evaluate_stage",  "start_stage", "dataset_digest", "start_checkpoint"};
  return names;
}

std::string ColumnOf(const std::string& name, const v1::ProgramParameter& parameter) {
  return parameter.has_column() ? parameter.column() : name.substr(name.rfind('.') + 1);
}

std::vector<SpecColumn> ColumnsOf(const v1::ProgramDescription& program) {
  std::vector<SpecColumn> columns = {{"seed", {"$.seed"}, {}}};
  AddParameters(program, kProgramColumnsMax, columns);
  return columns;
}

std::vector<SpecColumn> ColumnsWith(const std::vector<v1::ProgramDescription>& programs) {
  std::vector<SpecColumn> columns = SpecColumns();
  const std::size_t columns_max = columns.size() + kProgramColumnsMax;
  for (const v1::ProgramDescription& program : programs) AddParameters(program, columns_max, columns);
  return columns;
}

std::string ColumnsNote(std::vector<v1::ProgramDescription> programs, const v1::ProgramDescription& program) {
  programs.push_back(program);
  const std::vector<std::string> names = LeftOut(ColumnsWith(programs), program);
  return names.empty() ? "" : NoteOn(program, names);
}

std::string WhyNoColumn(const std::vector<v1::ProgramDescription>& programs, const std::string& column) {
  const std::vector<SpecColumn> columns = ColumnsWith(programs);
  for (const v1::ProgramDescription& program : programs) {
    for (const std::string& name : LeftOut(columns, program)) {
      if (absl::EqualsIgnoreCase(ColumnOf(name, program.parameters().at(name)), column))
        return NoteOn(program, {name});
    }
  }
  return "";
}

void CheckColumns(const v1::ProgramDescription& program, Problems* problems) {
  std::map<std::string, std::string> owners;  // Of a column in lower case: what has it.
  for (const auto& [name, parameter] : Sorted(program.parameters())) {
    if (name == "seed") continue;  // Refused as a name.
    const std::string column = ColumnOf(name, parameter);
    const std::string path =
        absl::StrCat(JoinPath("parameters", name), parameter.has_column() ? ".column" : "");
    std::string owner = OwnerOf(column, /*of_measurement=*/false);
    const auto [first, is_new] = owners.emplace(absl::AsciiStrToLower(column), name);
    if (owner.empty() && !is_new) owner = absl::StrCat("is the column of ", first->second);
    if (!owner.empty())
      problems->Add(path, absl::StrCat(Quoted(column), " ", owner, "; give another one, with `column:`"));
  }
  for (const auto& [name, measurement] : Sorted(program.measurements())) {
    std::string owner = OwnerOf(name, /*of_measurement=*/true);
    const auto [first, is_new] = owners.emplace(absl::AsciiStrToLower(name), name);
    if (owner.empty() && !is_new)
      owner = absl::StrCat("is the column of ", first->second, "; give a parameter another `column:`, or");
    if (!owner.empty())
      problems->Add(JoinPath("measurements", name),
                    absl::StrCat(Quoted(name), " ", owner, owner.ends_with("or") ? "" : ";",
                                 " rename the measurement"));
  }
}

}  // namespace inlier
