#include "spec/sweep/sweep_reader.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/program/find_program.h"
#include "spec/program/program_source.h"
#include "spec/program/trial_form.h"
#include "spec/schema/field_path.h"
#include "spec/schema/overrides.h"
#include "spec/schema/param_range.h"
#include "spec/schema/path_text.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/figure_checks.h"
#include "spec/sweep/model_folders.h"
#include "spec/sweep/point_names.h"
#include "spec/sweep/pruning_checks.h"
#include "spec/sweep/resource_checks.h"
#include "spec/sweep/search_space.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_scale.h"
#include "spec/sweep/table_columns.h"

namespace inlier {
namespace {

constexpr std::size_t kSweepNameMax = 100;
constexpr std::uint32_t kDecimalsMax = 15;

void CheckName(const v1::SweepSpec& sweep, Problems* problems) {
  if (!sweep.has_name()) return;  // Declared as required: reported with the rest of its kind.
  const std::string& name = sweep.name();
  // "s-12" is an id, and "-x" is a flag of the command line.
  const std::size_t dash = std::min(name.find('-'), name.size());
  const std::string_view before = std::string_view(name).substr(0, dash),
                         behind = std::string_view(name).substr(dash);
  const bool is_id = (before == "s" || before == "t" || before == "st") && behind.size() > 1 &&
                     behind.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!IsFileName(name) || name.size() > kSweepNameMax || name[0] == '-' || is_id) {
    problems->Add("name",
                  Quoted(name) + " cannot name a sweep: use 1 to " + std::to_string(kSweepNameMax) +
                      " letters, digits, \"_\", \"-\" and \".\", neither \"-\" nor \".\" first, and no id "
                      "such as s-1 or t-7");
  }
}

void CheckTable(const v1::TableSpec& table, const SweepGrid& grid, Problems* problems) {
  const PointNames names(grid);
  for (int i = 0; i < table.rows_size(); ++i)
    names.CheckName(table.rows(i), ItemPath("table.rows", i), problems);
  names.CheckWhere(table.where(), "table.where", problems);
  if (table.columns_size() == 0)
    problems->Add("table.columns", "is empty; give at least one, such as {measurement: perplexity}");
  CheckTableForm(table, *grid.form().measurements(), problems);
  for (int i = 0; i < table.columns_size(); ++i) {
    const v1::TableColumn& column = table.columns(i);
    const std::string path = ItemPath("table.columns", i);
    if (column.decimals() > kDecimalsMax) {
      problems->Add(path + ".decimals", std::to_string(column.decimals()) +
                                            " is out of range: give a whole number from 0 to " +
                                            std::to_string(kDecimalsMax));
    }
    names.CheckWhere(column.where(), path + ".where", problems);
    for (const auto& name : column.best_of().over()) names.CheckName(name, path + ".best_of.over", problems);
    for (const auto& name : column.mean_over()) names.CheckName(name, path + ".mean_over", problems);
  }
}

// `--set` of a field that an axis or a tie sets at every point would do nothing.
absl::Status CheckOverrides(const v1::SweepSpec& sweep, const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) {
    const std::string path = text.substr(0, text.find('='));
    if (sweep.tied().contains(path))
      return absl::InvalidArgumentError("--set " + text + ": the sweep ties " + path +
                                        " to other parameters; change tied in the file");
    for (const v1::Axis& axis : sweep.axes()) {
      if (axis.field() != path && std::ranges::find(axis.zip(), path) == axis.zip().end()) continue;
      return absl::InvalidArgumentError("--set " + text + ": an axis of the sweep sets " + path +
                                        " at every point; change the axis in the file");
    }
  }
  return absl::OkStatus();
}

// Values that the coordinator checks in a trial: of all axes together, and of each axis at least.
constexpr std::uint32_t kCheckedTogether = 128;
constexpr std::uint32_t kCheckedAtLeast = 4;

// nullopt where the axes are malformed.
std::optional<SweepGrid> CheckedGrid(const v1::SweepSpec& sweep, std::uint32_t values_max,
                                     Problems* problems) {
  // The base alone need not be complete: its declarations are checked in the points.
  v1::SweepSpec frame = sweep;
  frame.clear_base();
  frame.clear_program();  // Checked with its form.
  frame.clear_scales();   // The reader of the file checks other sizes.
  CheckDeclarations(frame, "", problems);
  CheckName(sweep, problems);
  std::optional<SweepGrid> grid = SweepGrid::Create(sweep, problems);
  if (!grid) return grid;
  SweepGrid shown = *grid;
  shown.AppendExample();
  shown.CheckValues(problems, values_max);
  if (sweep.sampling().has_optuna()) CheckSearch(sweep, *grid, problems);
  if (sweep.has_pruning()) CheckPruning(sweep, shown, problems);
  if (sweep.has_resources()) CheckResources(sweep, shown, problems);
  if (sweep.has_table()) CheckTable(sweep.table(), *grid, problems);
  CheckMeasured(sweep, shown, problems);
  CheckFigures(sweep, *grid, problems);
  return grid;
}

}  // namespace

Problems FindSweepProblems(const v1::SweepSpec& sweep) {
  Problems problems;
  CheckedGrid(sweep, SweepGrid::kCheckedMax, &problems);
  return problems;
}

absl::Status CheckSweepName(const std::string& name) {
  v1::SweepSpec sweep;
  sweep.set_name(name);
  Problems problems;
  CheckName(sweep, &problems);
  return problems.ToStatus();
}

absl::StatusOr<SweepGrid> CheckedGrid(const v1::SweepSpec& sweep) {
  Problems problems;
  const auto axes = static_cast<std::uint32_t>(std::max(1, sweep.axes_size()));
  std::optional<SweepGrid> grid =
      CheckedGrid(sweep, std::max(kCheckedAtLeast, kCheckedTogether / axes), &problems);
  RETURN_IF_ERROR(problems.ToStatus());
  return *std::move(grid);
}

namespace {

// A sweep as its file has it, and the form of its trials.
struct ReadSweep {
  v1::SweepSpec sweep;
  std::shared_ptr<const TrialForm> form;
  std::filesystem::path program_folder;
  SourceMap positions;
};

absl::StatusOr<ReadSweep> ReadDocument(std::string_view text, const std::string& file,
                                       const std::vector<std::string>& overrides) {
  ReadSweep read;
  YamlDocument document = ParseYaml(text);
  ASSIGN_OR_RETURN(const FoundProgram program, TakeProgram(file, &document));
  const v1::ProgramUse& use = program.use;
  read.program_folder = program.folder;
  if (use.name().empty()) {
    read.form = TrialForm::OfModels();
    if (document.root != nullptr) ModelFolderReplacer(overrides)(&document);
    RETURN_IF_ERROR(ReadYamlDocument(document, file, &read.sweep, &read.positions, nullptr, &std::getenv));
    return read;
  }
  ASSIGN_OR_RETURN(read.form, TrialForm::OfProgram(use));
  const std::unique_ptr<google::protobuf::Message> base = read.form->New();
  RETURN_IF_ERROR(ReadYamlDocument(document, file, &read.sweep, &read.positions, base.get(), &std::getenv));
  *read.sweep.mutable_program() = use;
  read.form->Write(*base, read.sweep.mutable_base());
  if (!read.sweep.has_resources() && use.description().has_resources())
    *read.sweep.mutable_resources() = use.description().resources();
  return read;
}

// `--set` of paths as a file may have them.
absl::StatusOr<std::vector<std::string>> WithPaths(const TrialForm& form,
                                                   const std::vector<std::string>& overrides) {
  std::vector<std::string> expanded;
  for (const std::string& text : overrides) {
    const std::size_t name = std::min(text.find('='), text.size());
    FieldPath path;
    expanded.push_back(text);
    if (!FieldPath::TryParse(form.descriptor(), text.substr(0, name), &path).empty())
      continue;  // Told later.
    if (name == text.size() || !MayBePath(path.field())) continue;
    const absl::StatusOr<std::string> value = ExpandPath(text.substr(name + 1), &std::getenv);
    if (!value.ok())
      return absl::InvalidArgumentError(absl::StrCat("--set ", text, ": ", value.status().message()));
    expanded.back() = absl::StrCat(text.substr(0, name + 1), *value);
  }
  return expanded;
}

// `--set` of the parameters of a program.
absl::Status OverrideProgram(const TrialForm& form, const std::vector<std::string>& overrides,
                             v1::SweepSpec* sweep) {
  Problems problems;
  const std::unique_ptr<google::protobuf::Message> base = form.Read(sweep->base(), &problems);
  RETURN_IF_ERROR(problems.ToStatus());
  RETURN_IF_ERROR(ApplyOverrides(base.get(), overrides));
  sweep->clear_base();
  form.Write(*base, sweep->mutable_base());
  return CheckOverrides(*sweep, overrides);
}

}  // namespace

absl::StatusOr<v1::SweepSpec> ReadSweepText(std::string_view text, const std::string& file,
                                            const std::vector<std::string>& given, const std::string& scale) {
  ASSIGN_OR_RETURN(ReadSweep read, ReadDocument(text, file, given));
  ASSIGN_OR_RETURN(const std::vector<std::string> overrides, WithPaths(*read.form, given));
  v1::SweepSpec& sweep = read.sweep;
  const SourceMap& positions = read.positions;
  Problems problems;
  const ScaleOrigins origins = ApplyScale(scale, *read.form, &sweep, &problems);
  RETURN_IF_ERROR(positions.ToStatus(file, problems));
  if (read.form->is_program()) {
    RETURN_IF_ERROR(OverrideProgram(*read.form, overrides, &sweep));
  } else if (!overrides.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> replaced,
                     ReplaceModelFolders(overrides, sweep.mutable_base()));
    RETURN_IF_ERROR(ApplyOverrides(sweep.mutable_base(), replaced));
    RETURN_IF_ERROR(CheckOverrides(sweep, replaced));
  }
  const auto known_depth = [&positions](const std::string& path) { return positions.Depth(path); };
  RETURN_IF_ERROR(positions.ToStatus(file, FindSweepProblems(sweep), [&](const std::string& path) {
    return origins.PathInDocument(path, known_depth);
  }));
  if (read.form->is_program()) {
    const auto source = SourceOfProgram(read.program_folder, sweep.program().description());
    if (source) *sweep.mutable_program()->mutable_source() = *source;
  }
  return std::move(read.sweep);
}

absl::StatusOr<v1::SweepSpec> ReadSweepFile(const std::filesystem::path& file,
                                            const std::vector<std::string>& overrides,
                                            const std::string& scale) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file));
  return ReadSweepText(text, file.string(), overrides, scale);
}

absl::StatusOr<std::vector<std::string>> ReadScaleNames(const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file));
  return ScaleNamesOfText(text, file.string());
}

absl::StatusOr<std::vector<std::string>> ScaleNamesOfText(std::string_view text, const std::string& file,
                                                          const std::vector<std::string>& overrides) {
  ASSIGN_OR_RETURN(const ReadSweep read, ReadDocument(text, file, overrides));
  return ScaleNames(read.sweep);
}

}  // namespace inlier
