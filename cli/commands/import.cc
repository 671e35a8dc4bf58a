// inlier import: results from elsewhere as a sweep of kind imported.
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/convert/program_names.h"
#include "cli/import/foreign_runs.h"
#include "cli/import/import_request.h"
#include "cli/query_rows.h"
#include "cli/sweeps/name_note.h"
#include "nlohmann/json.hpp"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  std::string path, format, name, map;
  std::vector<std::string> parameters, measurements, ignore, lower, higher, rename;
  v1::ImportMapping mapping;  // Set by the further flags.
  bool again = false, dry_run = false;
};

// The file of --map, and what the flags add.
absl::StatusOr<v1::ImportMapping> MappingOf(const ImportArguments& arguments) {
  v1::ImportMapping mapping;
  if (!arguments.map.empty()) RETURN_IF_ERROR(ReadYamlFile(arguments.map, &mapping));
  mapping.MergeFrom(arguments.mapping);
  const auto add = [](const std::vector<std::string>& lists, auto* to) {
    for (const std::string& list : lists) {
      for (const auto name : absl::StrSplit(list, ',', absl::SkipEmpty())) to->Add(std::string(name));
    }
  };
  add(arguments.parameters, mapping.mutable_parameters());
  add(arguments.measurements, mapping.mutable_measurements());
  add(arguments.ignore, mapping.mutable_ignore());
  add(arguments.lower, mapping.mutable_lower());
  add(arguments.higher, mapping.mutable_higher());
  for (const std::string& pair : arguments.rename) {
    const std::size_t equals = pair.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size())
      return absl::InvalidArgumentError(absl::StrCat("--rename ", pair, ": give NAME_THERE=name_here"));
    (*mapping.mutable_rename())[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return mapping;
}

absl::StatusOr<v1::ImportSource::Format> FormatNamed(const std::string& format, const fs::path& path) {
  if (format.empty()) return FormatOfRuns(path);
  v1::ImportSource::Format parsed{};
  if (v1::ImportSource::Format_Parse(absl::AsciiStrToUpper(format), &parsed)) return parsed;
  return absl::InvalidArgumentError(
      absl::StrCat("--format ", format, " is not known; use csv, tensorboard, wandb or mlflow"));
}

std::string WhoReads() {
  char host[256] = {};
  const passwd* user = getpwuid(geteuid());
  if (gethostname(host, sizeof(host) - 1) != 0 || user == nullptr) return "";
  return absl::StrCat(user->pw_name, "@", host);
}

absl::StatusOr<MadeImport> ReadImport(const ImportArguments& arguments) {
  ASSIGN_OR_RETURN(const v1::ImportMapping mapping, MappingOf(arguments));
  std::string path = fs::absolute(arguments.path).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  ASSIGN_OR_RETURN(const v1::ImportSource::Format format, FormatNamed(arguments.format, path));
  SourceFiles files{path};
  const auto read = format == v1::ImportSource::CSV           ? ReadCsvRuns
                    : format == v1::ImportSource::TENSORBOARD ? ReadTensorBoardRuns
                    : format == v1::ImportSource::WANDB       ? ReadWandbRuns
                                                              : ReadMlflowRuns;
  ASSIGN_OR_RETURN(ForeignRuns runs, read(files, mapping));
  v1::ImportSource source;
  source.set_format(format);
  source.set_path(path);
  source.set_sha256(files.Digest());
  source.set_files(static_cast<std::uint32_t>(files.size()));
  source.set_by(WhoReads());
  std::string name = arguments.name;
  if (name.empty()) name = SweepNameOf(fs::path(path).stem().string());
  if (name.empty()) name = "imported";
  RETURN_IF_ERROR(CheckSweepName(name));
  ASSIGN_OR_RETURN(MadeImport made, MakeImport(std::move(runs), mapping, source, name));
  made.request.set_again(arguments.again);
  return made;
}

// Of an earlier import with runs of the same names.
std::string NoteOnSameRuns(Session& session, const std::string& sweep_id) {
  const std::string of_it = " WHERE withdrawn = 0 AND sweep_id = " + SqlText(sweep_id);
  const auto rows = QueryRows(
      session, absl::StrCat("SELECT sweep_id, count(DISTINCT run) FROM results WHERE origin = 'imported' AND "
                            "sweep_id <> ",
                            SqlText(sweep_id), " AND run IN (SELECT run FROM results", of_it,
                            ") GROUP BY sweep_id ORDER BY 2 DESC LIMIT 1"));
  if (!rows.ok() || rows->rows_size() == 0) return "";
  const v1::QueryRow& row = rows->rows(0);
  return absl::StrCat(
      row.values(0).text(), " has ", ExactText(row.values(1)),
      " runs of the same names: where they are the same, a table of both sweeps counts them twice");
}

void PrintImported(const v1::ImportSweepResponse& response, const MadeImport& made, bool dry_run) {
  nlohmann::ordered_json out = {{"sweep_id", response.sweep_id()},
                                {"changed", response.changed()},
                                {"runs", made.request.runs_size()},
                                {"sha256", made.request.spec().imported().sha256()},
                                {"remarks", made.remarks}};
  if (dry_run) out.erase("sweep_id");
  PrintJson(out);
}

absl::Status Import(Session& session, const ImportArguments& arguments) {
  ASSIGN_OR_RETURN(const MadeImport made, ReadImport(arguments));
  if (session.people()) {
    for (const std::string& remark : made.remarks) PrintNote(remark);
  }
  v1::ImportSweepResponse response;
  if (!arguments.dry_run) {
    ASSIGN_OR_RETURN(response, session.CallOnce(&SweepStub::ImportSweep, made.request));
  }
  if (session.mode() == OutputMode::kJson) {
    PrintImported(response, made, arguments.dry_run);
    return absl::OkStatus();
  }
  const std::string runs =
      absl::StrCat(made.request.runs_size(), made.request.runs_size() == 1 ? " run" : " runs");
  const std::string what = absl::StrCat(response.sweep_id(), " (", response.name(), ")");
  if (arguments.dry_run) {
    Print(absl::StrCat("Would import ", runs, " as ", made.request.spec().name(), "\n"));
  } else if (!response.changed()) {
    session.Report(response, absl::StrCat("is there already, as ", what,
                                          ": nothing was imported; --again imports it once more"));
  } else {
    session.Report(response,
                   absl::StrCat("imported ", runs, " as ", what, "; inlier table ", response.sweep_id()));
    if (session.people()) {
      PrintNote(NoteOnSameName(session, response.sweep_id()));
      PrintNote(NoteOnSameRuns(session, response.sweep_id()));
    }
  }
  return absl::OkStatus();
}

void AddNames(CLI::App& command, const char* flag, std::vector<std::string>& names, const char* help) {
  command.add_option(flag, names, help)->allow_extra_args(false);
}

}  // namespace

void AddImportCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ImportArguments>();
  v1::ImportMapping& mapping = arguments->mapping;
  CLI::App* command = app.add_subcommand(
      "import",
      "Import runs of a CSV file, TensorBoard, Weights & Biases or MLflow as a sweep beside those of inlier");
  command->add_option("path", arguments->path, "File, or folder of runs")->required();
  command->add_option("--format,-f", arguments->format,
                      "csv, tensorboard, wandb or mlflow; default: by what is there");
  command->add_option("--name", arguments->name, "Of the sweep; default: of the file or folder");
  AddNames(*command, "--parameters", arguments->parameters, "Names that are settings, with commas");
  AddNames(*command, "--measurements", arguments->measurements, "Names that are results");
  AddNames(*command, "--ignore", arguments->ignore, "Names that are left out; * stands for anything");
  AddNames(*command, "--rename", arguments->rename, "NAME_THERE=name_here; repeat it for more");
  AddNames(*command, "--lower", arguments->lower, "Results of which less is better");
  AddNames(*command, "--higher", arguments->higher, "Results of which more is better");
  AddField(*command, "--run", mapping, "CSV: the column with the names of the runs");
  AddField(*command, "--seed", mapping, "The name of the seed; default: seed");
  AddField(*command, "--delimiter", mapping, "CSV: the character between cells; default: by the first line");
  AddField(*command, "--experiment", mapping, "MLflow: the experiment, where there are several");
  AddField(*command, "--points", mapping, "Points that are kept of each curve, evenly spread; default: 1000");
  AddField(*command, "--unfinished", mapping, "Take the numbers of runs that did not finish, too");
  command->add_option("--map", arguments->map, "A file (YAML, ImportMapping) with these in place of flags");
  command->add_flag("--again", arguments->again, "Also where the same is there already");
  command->add_flag("--dry-run", arguments->dry_run, "Only say how it is understood");
  OnUse(*command, session, [&session, arguments] { return Import(session, *arguments); });
}

}  // namespace inlier
