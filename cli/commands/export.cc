// inlier export: a trained model as a folder that Hugging Face transformers loads.
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/data/data_dir.h"
#include "base/processes/usable_cpus.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/programs/model_of_trial.h"
#include "cli/query_rows.h"
#include "cli/temporary_file.h"
#include "cli/trial_program.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using nlohmann::json;

struct ExportArguments {
  std::string model;
  std::string folder;
  std::string data_dir;  // The build's own when empty.
  bool force = false;
  bool weights_only = false;
  bool compressed = false;
};

// `checkpoint` and `spec` of a trial.
absl::StatusOr<json> AttemptOfTrial(Session& session, const std::string& trial) {
  ASSIGN_OR_RETURN(const std::filesystem::path file, ModelOfTrial(session, trial));
  ASSIGN_OR_RETURN(const v1::QueryResponse response,
                   QueryRows(session, absl::StrCat("SELECT spec FROM trials WHERE trial = '", trial, "'")));
  if (response.rows().empty()) return absl::NotFoundError(absl::StrCat(trial, ": there is no such trial"));
  return json{{"checkpoint", std::filesystem::absolute(file).string()},
              {"spec", json::parse(response.rows(0).values(0).text())}};
}

// The cache of the state folder that the model is in: it has the vocabularies that were trained there.
std::filesystem::path CacheBeside(const std::filesystem::path& model, const std::filesystem::path& dir) {
  const std::filesystem::path artifacts = std::filesystem::absolute(model).parent_path();
  const bool in_state = artifacts.filename() == "artifacts";
  return (in_state ? artifacts.parent_path() : std::filesystem::absolute(dir)) / "cache";
}

std::string ForPeople(const ExportArguments& arguments, const json& exported) {
  const std::string& folder = arguments.folder;
  return absl::StrCat(
      "written to ", folder,
      exported.value("quantized", false)
          ? ": float weights, and the scales of its quantization in inlier_quantization.json"
      : arguments.compressed ? ": quantized weights; Python needs the package compressed-tensors"
                             : "",
      "\nin Python: transformers.", exported.value("auto_class", "AutoModel"), ".from_pretrained(\"", folder,
      "\"", exported.value("own_code", false) ? ", trust_remote_code=True" : "", ")\n");
}

absl::Status Export(Session& session, const ExportArguments& arguments) {
  namespace fs = std::filesystem;
  json attempt = {{"checkpoint", arguments.model}};
  if (!fs::exists(arguments.model) && IsTrialId(arguments.model)) {
    ASSIGN_OR_RETURN(attempt, AttemptOfTrial(session, arguments.model));
  }
  const std::string file = attempt["checkpoint"];
  attempt["data_dir"] = DataDirOr(arguments.data_dir);
  attempt["cache_dir"] = CacheBeside(file, session.dir).string();
  attempt["threads"] = FindUsableCpus().count;
  ASSIGN_OR_RETURN(const TemporaryFile request, TemporaryFile::Make(JsonText(attempt)));
  std::vector<std::string> command = {"export", request.path(), arguments.folder};
  if (arguments.force) command.push_back("--force");
  if (arguments.weights_only) command.push_back("--weights-only");
  if (arguments.compressed) command.push_back("--compressed-tensors");
  json exported;
  RETURN_IF_ERROR(RunTrialProgram(command, [&exported](const std::string& line) {
    exported = json::parse(line, nullptr, /*allow_exceptions=*/false);
  }));
  if (session.json) {
    json answer = {{"model", file}, {"folder", arguments.folder}};
    answer.update(exported);
    PrintJson(answer, -1);
  } else if (session.people()) {
    Print(ForPeople(arguments, exported));
  }
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command =
      app.add_subcommand("export", "Export a trained model as a folder for Hugging Face transformers");
  command
      ->add_option("model", arguments->model, "Trial id, for example t-17, or a model.safetensors of inlier")
      ->required();
  command
      ->add_option("folder", arguments->folder,
                   "Folder for config.json, model.safetensors, the tokenizer, and what else the model needs")
      ->required();
  command->add_flag("--force", arguments->force, "Replace a model that is in the folder");
  CLI::Option* const weights_only = command->add_flag(
      "--weights-only", arguments->weights_only,
      "The float model alone: no tokenizer and no scales, for which the training's data are "
      "needed");
  command
      ->add_flag(
          "--compressed-tensors", arguments->compressed,
          "The quantized weights as integers, as the library compressed-tensors stores them: OPT and Llama "
          "quantized by absmax with FINE")
      ->excludes(weights_only);
  command->add_option("--data-dir", arguments->data_dir,
                      "Folder of corpora and vocabularies; default: the one that `make setup` fills");
  command->callback([&session, arguments] { session.Finish(Export(session, *arguments)); });
}

}  // namespace inlier
