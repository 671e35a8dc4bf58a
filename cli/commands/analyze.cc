// inlier analyze: outliers of a Hugging Face model, and the effect of quantization.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/analysis_report.h"
#include "cli/commands.h"
#include "cli/trial_program.h"
#include "inlier/v1/analysis.pb.h"

namespace inlier {
namespace {

struct Arguments {
  std::string folder;
  std::string corpus = "gcide";
  std::string text;
  std::string data_dir;  // The build's own when empty.
  std::string device = "cpu";
  std::vector<std::string> bits;
  std::uint32_t sequence_length = 128;
  std::uint32_t batches = 8;
  std::uint32_t batch_size = 16;
  std::uint32_t threads = 0;
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

absl::StatusOr<v1::AnalysisSpec> SpecOf(const Session& session, const Arguments& arguments) {
  namespace fs = std::filesystem;
  v1::AnalysisSpec spec;
  spec.set_folder(fs::absolute(arguments.folder).lexically_normal().string());
  v1::TextDataSpec* text = spec.mutable_text();
  if (arguments.text.empty()) {
    text->set_corpus(arguments.corpus);
  } else {
    text->set_path(fs::absolute(arguments.text).lexically_normal().string());
  }
  text->set_sequence_length(arguments.sequence_length);
  spec.mutable_evaluation()->set_batches(arguments.batches);
  spec.mutable_evaluation()->set_batch_size(arguments.batch_size);
  for (const std::string& bits : arguments.bits) {
    ASSIGN_OR_RETURN(*spec.add_settings(), SettingOf(bits));
  }
  spec.set_data_dir(arguments.data_dir.empty() ? std::string(INLIER_DEFAULT_DATA_DIR)
                                               : fs::absolute(arguments.data_dir).string());
  spec.set_cache_dir((fs::absolute(session.dir) / "cache").string());
  spec.set_threads(arguments.threads != 0 ? arguments.threads
                                          : std::max(1U, std::thread::hardware_concurrency()));
  spec.set_device(arguments.device);
  return spec;
}

// A file that is removed on destruction.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    std::string name = (std::filesystem::temp_directory_path() / "inlier-analysis-XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    if (descriptor >= 0) ::close(descriptor);
    path_ = name;
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

absl::Status Analyze(Session& session, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const v1::AnalysisSpec spec, SpecOf(session, arguments));
  const TemporaryFile request(SpecToJson(spec));
  AnalysisReport report;
  const bool shows_progress = session.people() && StderrIsTerminal();
  RETURN_IF_ERROR(RunTrialProgram({"analyze", request.path()}, [&](const std::string& line) {
    const auto parsed = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded()) return;
    const bool found = report.Add(parsed);
    if (shows_progress) PrintProgress(found ? "" : report.progress());
  }));
  if (shows_progress) PrintProgress("");
  if (session.mode() == OutputMode::kJson) {
    PrintExact(report.ToJson().dump(2) + "\n");
  } else {
    Print(report.ToString());
  }
  return absl::OkStatus();
}

}  // namespace

void AddAnalyzeCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("analyze",
                                         "Measure the outliers of a Hugging Face model (BERT, OPT, GPT-2, "
                                         "Llama), and the effect of quantization");
  command->add_option("folder", arguments->folder, "config.json, model.safetensors and the tokenizer's files")
      ->required();
  command->add_option("--corpus", arguments->corpus, "Corpus of the data folder")->capture_default_str();
  command->add_option("--text", arguments->text, "A text file, folder or .jsonl in place of a corpus");
  command
      ->add_option("--bits", arguments->bits,
                   "W8A8, W4A8, W4, …; default: the usual ones for the architecture")
      ->delimiter(',');
  command->add_option("--sequence-length", arguments->sequence_length, "Tokens in a sequence")
      ->capture_default_str();
  command->add_option("--batches", arguments->batches, "Batches to measure on")->capture_default_str();
  command->add_option("--batch-size", arguments->batch_size, "Sequences in a batch")->capture_default_str();
  command->add_option("--data-dir", arguments->data_dir,
                      "Folder of corpora and vocabularies; default: the one that `make setup` fills");
  command->add_option("--device", arguments->device, "cpu or cuda")->capture_default_str();
  command->add_option("--threads", arguments->threads, "CPU threads; default: all cores");
  command->callback([&session, arguments] { session.Finish(Analyze(session, *arguments)); });
}

}  // namespace inlier
