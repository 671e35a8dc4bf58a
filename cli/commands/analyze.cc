// inlier analyze: outliers of a Hugging Face model, and the effect of quantization.
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/data/checked_files.h"
#include "base/data/data_dir.h"
#include "base/files/file.h"
#include "base/processes/usable_cpus.h"
#include "base/status.h"
#include "cli/analysis_report.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/temporary_file.h"
#include "cli/trial_program.h"
#include "inlier/v1/analysis.pb.h"
#include "rpc/server_probe.h"
#include "spec/hugging_face/hub_cache.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {
namespace {

struct AnalyzeArguments {
  std::string model;
  std::string corpus = "gcide";
  std::string text;
  std::string images;
  std::string questions;
  std::string tokenizer;
  std::string data_dir;  // The build's own when empty.
  std::vector<std::string> bits, quantizations;
  std::string layers;
  bool no_store = false;
  v1::AnalysisSpec fields;  // Set by the further flags.
};

// "W8A8" or "W4": both bit widths of the reference scheme.
absl::StatusOr<v1::QuantizationSpec> SettingOf(const std::string& text) {
  v1::QuantizationSpec setting;
  unsigned weights = 0, activations = 0;
  int used = 0;
  const int fields = std::sscanf(text.c_str(), "W%uA%u%n", &weights, &activations, &used);
  const bool both = fields == 2 && static_cast<std::size_t>(used) == text.size();
  const bool weights_only = !both && std::sscanf(text.c_str(), "W%u%n", &weights, &used) == 1 &&
                            static_cast<std::size_t>(used) == text.size();
  if (!both && !weights_only)
    return absl::InvalidArgumentError(
        absl::StrCat("--bits ", text, ": write W and A with their bits, such as W8A8, or W4"));
  setting.mutable_weights()->set_bits(weights);
  if (both) setting.mutable_activations()->set_bits(activations);
  return setting;
}

absl::StatusOr<v1::AnalysisSpec> SpecOf(const Session& session, const AnalyzeArguments& arguments) {
  namespace fs = std::filesystem;
  v1::AnalysisSpec spec = arguments.fields;
  ASSIGN_OR_RETURN(const fs::path folder, FindModel(arguments.model, HubCache(&std::getenv)));
  spec.set_folder(folder.string());
  v1::TextDataSpec* text = spec.mutable_text();
  const auto absolute = [](const std::string& path) {
    return fs::absolute(path).lexically_normal().string();
  };
  if (arguments.text.empty()) {
    text->set_corpus(arguments.corpus);
  } else {
    text->set_path(absolute(arguments.text));
  }
  std::error_code error;
  if (fs::is_directory(arguments.images, error)) {
    spec.mutable_images()->set_path(absolute(arguments.images));
  } else if (!arguments.images.empty()) {
    spec.mutable_images()->set_dataset(arguments.images);
  }
  if (!arguments.questions.empty())
    spec.mutable_evaluation()->mutable_multiple_choice()->set_path(absolute(arguments.questions));
  if (!arguments.tokenizer.empty()) {
    ASSIGN_OR_RETURN(*text->mutable_tokenizer(),
                     ReadYaml<v1::TokenizerSpec>(arguments.tokenizer, "--tokenizer"));
  }
  for (const std::string& bits : arguments.bits) {
    ASSIGN_OR_RETURN(*spec.add_settings(), SettingOf(bits));
  }
  for (const std::string& text : arguments.quantizations) {
    ASSIGN_OR_RETURN(*spec.add_settings(), ReadYaml<v1::QuantizationSpec>(text, "--quantization"));
  }
  spec.set_data_dir(DataDirOr(arguments.data_dir));
  spec.set_cache_dir((fs::absolute(session.dir) / "cache").string());
  if (spec.threads() == 0) spec.set_threads(static_cast<std::uint32_t>(FindUsableCpus().count));
  return spec;
}

// True when the result is to be stored: a coordinator answers. Asked before the work, which takes minutes. A named server
// must answer; one at the default port that refuses the caller is another user's.
absl::StatusOr<bool> Stores(Session& session, bool no_store) {
  if (no_store) return false;
  const absl::StatusOr<Answerer> answerer = session.FindAnswerer();
  if (!answerer.ok() && !session.choice().server.empty()) return answerer.status();
  if (!answerer.ok() || answerer->kind == Answerer::kStored) return false;
  if (answerer->kind != Answerer::kDefault) return true;
  return AcceptsConnections(answerer->address) &&
         session.Call(&SweepStub::ListSweeps, v1::ListSweepsRequest()).ok();
}

absl::StatusOr<std::string> Store(Session& session, const std::string& model, const v1::AnalysisSpec& spec,
                                  const AnalysisReport& report, const std::string& model_sha256) {
  v1::StoreAnalysisRequest request = report.ToRequest();
  request.set_model(model);
  if (!model_sha256.empty()) request.set_model_sha256(model_sha256);
  request.set_spec_json(SpecToJson(spec));
  ASSIGN_OR_RETURN(const v1::StoreAnalysisResponse stored,
                   session.CallOnce(&SweepStub::StoreAnalysis, request));
  return stored.analysis_id();
}

absl::Status Analyze(Session& session, const AnalyzeArguments& arguments) {
  ASSIGN_OR_RETURN(const v1::AnalysisSpec spec, SpecOf(session, arguments));
  ASSIGN_OR_RETURN(const bool stores, Stores(session, arguments.no_store));
  ASSIGN_OR_RETURN(const TemporaryFile request, TemporaryFile::Make(SpecToJson(spec)));
  AnalysisReport report;
  CheckedFiles files;
  // A model in shards does not have this file, and no digest.
  const std::filesystem::path weights = std::filesystem::path(spec.folder()) / "model.safetensors";
  const std::string digest = stores ? files.DigestOf(weights).value_or("") : "";
  const bool shows_progress = session.people() && StderrIsTerminal();
  RETURN_IF_ERROR(RunTrialProgram({"analyze", request.path()}, [&](const std::string& line) {
    const auto parsed = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded()) return;
    const bool found = report.Add(parsed);
    if (shows_progress) PrintProgress(found ? "" : report.progress());
  }));
  if (shows_progress) PrintProgress("");
  if (!arguments.layers.empty()) RETURN_IF_ERROR(WriteFileAtomically(arguments.layers, report.ToCsv()));
  absl::StatusOr<std::string> id = std::string();
  const absl::Status unchanged = digest.empty() ? absl::OkStatus() : files.Check(weights, digest);
  if (stores) id = unchanged.ok() ? Store(session, arguments.model, spec, report, digest) : unchanged;
  if (session.json) {
    nlohmann::ordered_json answer = report.ToJson();
    if (id.ok() && !id->empty()) answer["analysis"] = *id;
    PrintJson(answer);
    return id.status();
  }
  Print(report.ToString());
  if (!id.ok() || !session.people()) return id.status();
  if (stores) {
    Print(absl::StrCat("\nstored as ", *id,
                       "; to see it: inlier query \"SELECT * FROM analyses WHERE analysis = '", *id,
                       "'\"\n"));
  } else if (!arguments.no_store) {
    Print("\nnot stored: no coordinator answers; `inlier up` starts one\n");
  }
  return absl::OkStatus();
}

}  // namespace

void AddAnalyzeCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* command = app.add_subcommand("analyze",
                                         "Measure the outliers of a Hugging Face model (BERT, OPT, GPT-2, "
                                         "Llama, ViT), and the effect of quantization");
  command
      ->add_option("model", arguments->model,
                   "A folder with config.json, model.safetensors and the tokenizer's files, or the name of a "
                   "model in the hub's local cache (org/name)")
      ->required();
  command->add_option("--corpus", arguments->corpus, "Corpus of the data folder")->capture_default_str();
  command->add_option("--text", arguments->text, "A text file, folder or .jsonl in place of a corpus");
  command->add_option(
      "--images", arguments->images,
      "Of a model of images: a folder of them, as data.images.path of a sweep, or a data set of the "
      "data folder (fashion-mnist)");
  command->add_option("--questions", arguments->questions,
                      "Of a causal model: a .jsonl file of questions with several answers, as "
                      "evaluation.multiple_choice of a sweep, to measure the share answered right");
  command->add_option(
      "--tokenizer", arguments->tokenizer,
      "A published vocabulary in place of the folder's tokenizer, as a sweep writes it: '{gpt2: {}}'");
  command
      ->add_option("--bits", arguments->bits,
                   "W8A8, W4A8, W4, …; default: the usual ones for the architecture")
      ->delimiter(',');
  command
      ->add_option("--quantization", arguments->quantizations,
                   "A setting as a sweep writes `quantization`: '{weights: {bits: 4}, absmax: {}, gptq: {}}' "
                   "(may be repeated)")
      ->allow_extra_args(false);
  v1::AnalysisSpec& fields = arguments->fields;
  v1::EvaluationSpec& evaluation = *fields.mutable_evaluation();
  fields.set_all_methods(false);
  fields.set_device("cpu");
  fields.mutable_text()->set_sequence_length(128);
  evaluation.set_batches(16);
  evaluation.set_batch_size(8);
  AddField(*command, "--all-methods", fields,
           "Every method of quantization that the model takes, with 8 and 4 bits");
  AddField(*command, "--sequence-length", *fields.mutable_text(), "Tokens in a sequence")->default_str("128");
  AddField(*command, "--batches", evaluation, "Batches to measure on, and to calibrate with")
      ->default_str("16");
  AddField(*command, "--batch-size", evaluation, "Sequences in a batch")->default_str("8");
  AddField(*command, "--sensitivity", evaluation,
           "Measure on this many batches what each quantizer costs: one more pass a quantizer",
           "sensitivity_batches");
  command->add_option("--layers", arguments->layers, "Write the numbers of each layer to this CSV file");
  command->add_flag("--no-store", arguments->no_store, "Do not store the result with the coordinator");
  command->add_option("--data-dir", arguments->data_dir,
                      "Folder of corpora and vocabularies; default: the one that `make setup` fills");
  AddField(*command, "--device", fields, "Where it runs")->type_name("{cpu,cuda}")->default_str("cpu");
  AddField(*command, "--threads", fields, "CPU threads; default: all cores");
  command->callback([&session, arguments, &evaluation] {
    if (evaluation.sensitivity_batches() == 0) evaluation.clear_sensitivity_batches();
    session.Finish(Analyze(session, *arguments));
  });
}

}  // namespace inlier
