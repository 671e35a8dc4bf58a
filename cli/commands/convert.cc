// inlier convert: a sweep of another tool as one of inlier.
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/convert/conversion.h"
#include "nlohmann/json.hpp"
#include "spec/schema/yaml_reader.h"

namespace inlier {
namespace {

struct ConvertArguments {
  std::string file, program, output, description;
  bool force = false;
};

absl::Status CheckFree(const std::string& file, bool force) {
  std::error_code error;
  if (file.empty() || force || !std::filesystem::exists(file, error)) return absl::OkStatus();
  return absl::AlreadyExistsError(file + ": is there already; --force replaces it");
}

void PrintConverted(const Conversion& made, const ConvertArguments& arguments) {
  nlohmann::ordered_json remarks = nlohmann::ordered_json::array();
  for (const Remark& remark : made.remarks) {
    remarks.push_back({{"file", arguments.file},
                       {"line", remark.position.line},
                       {"column", remark.position.column},
                       {"path", remark.path},
                       {"text", remark.text}});
  }
  PrintJson({{"sweep", made.sweep}, {"program", made.program}, {"remarks", remarks}});
}

absl::Status Convert(Session& session, const ConvertArguments& arguments) {
  RETURN_IF_ERROR(CheckFree(arguments.output, arguments.force));
  RETURN_IF_ERROR(CheckFree(arguments.description, arguments.force));
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(arguments.file));
  ASSIGN_OR_RETURN(const Conversion made, ConvertSweep(text, arguments.file, arguments.program));
  const std::string sweep = SweepFileText(made, arguments.file);
  if (!arguments.output.empty()) RETURN_IF_ERROR(WriteFileAtomically(arguments.output, sweep));
  if (!arguments.description.empty())
    RETURN_IF_ERROR(WriteFileAtomically(arguments.description, ProgramFileText(made, arguments.file)));
  if (session.json) {
    PrintConverted(made, arguments);
    return absl::OkStatus();
  }
  for (const Remark& remark : made.remarks) PrintError("warning: " + RemarkText(arguments.file, remark));
  if (arguments.output.empty()) {
    PrintData(sweep);
  } else if (session.people()) {
    Print(absl::StrCat("written to ", arguments.output, "\n"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddConvertCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand(
      "convert",
      "Turn a sweep of Weights & Biases, or a Hydra configuration, into a sweep of a program of one's own");
  command
      ->add_option("file", arguments->file,
                   "W&B sweep (YAML or JSON), or Hydra configuration with hydra.sweeper.params")
      ->required();
  command->add_option(
      "--program", arguments->program,
      "Name of the program, as in inlier-program.yaml; that of the file's script when not given");
  command->add_option("--output,-o", arguments->output, "Write the sweep to this file");
  command->add_option("--description", arguments->description,
                      "Write a draft of inlier-program.yaml, which declares the program, to this file");
  command->add_flag("--force", arguments->force, "Replace the files");
  OnUse(*command, session, [&session, arguments] { return Convert(session, *arguments); });
}

}  // namespace inlier
