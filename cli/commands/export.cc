// inlier export: a trained model as a folder that Hugging Face transformers loads.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/trial_program.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

bool IsTrialId(const std::string& text) {
  return text.size() > 2 && text.compare(0, 2, "t-") == 0 &&
         std::all_of(text.begin() + 2, text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// The file of a trial's trained model; it is in the state folder of the worker that trained it.
absl::StatusOr<std::filesystem::path> ModelOfTrial(Session& session, const std::string& trial) {
  v1::QueryRequest request;
  request.set_sql(absl::StrCat(
      "SELECT stage.checkpoint FROM trial JOIN stage ON stage.id = trial.train_stage WHERE trial.id = ",
      trial.substr(2)));
  ASSIGN_OR_RETURN(const v1::QueryResponse response, session.Call(&v1::SweepService::Stub::Query, request));
  if (response.rows().empty())
    return absl::NotFoundError(absl::StrCat(trial, ": there is no such trial; `inlier status` lists sweeps"));
  const std::string& digest = response.rows(0).values(0).text();
  if (digest.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(trial, ": has no trained model yet; `inlier watch` waits for it"));
  const std::filesystem::path file = session.dir / "artifacts" / (digest + ".safetensors");
  if (std::filesystem::exists(file)) return file;
  return absl::NotFoundError(absl::StrCat(
      file.string(), ": the model of ", trial,
      " is not in this folder; name the state folder with --dir, or run this on the worker that trained it"));
}

absl::Status Export(Session& session, const std::string& model, const std::string& folder) {
  std::filesystem::path file = model;
  if (!std::filesystem::exists(file) && IsTrialId(model)) {
    ASSIGN_OR_RETURN(file, ModelOfTrial(session, model));
  }
  RETURN_IF_ERROR(RunTrialProgram({"export", file.string(), folder}));
  if (session.mode() == OutputMode::kJson) {
    PrintExact(nlohmann::json{{"model", file.string()}, {"folder", folder}}.dump() + "\n");
  } else if (session.people()) {
    Print(absl::StrCat("written to ", folder, "; in Python: transformers.AutoModel.from_pretrained(\"",
                       folder, "\")\n"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddExportCommand(CLI::App& app, Session& session) {
  auto model = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("export", "Export a trained model as a folder for Hugging Face transformers");
  command->add_option("model", *model, "Trial id, for example t-17, or a model.safetensors of inlier")
      ->required();
  command->add_option("folder", *folder, "Folder for config.json and model.safetensors")->required();
  command->callback([&session, model, folder] { session.Finish(Export(session, *model, *folder)); });
}

}  // namespace inlier
