// The inlier side of the comparison with transformers (tests/integration/transformers_test.py, model_folders_test.py):
//   hub_tool make SPEC.txt FOLDER [IN OUT]   a model of a TrialSpec (text form) with random weights, quantized if the
//                                            spec is, exported to FOLDER; its logits for IN
//   hub_tool logits FOLDER IN OUT            logits of the model in FOLDER
//   hub_tool each LIST.txt                   of each folder of the list, one a line: the logits for its `in` into `whole`, and the
//                                            states of its body into `body`; or the errors into whole.txt and body.txt
//   hub_tool ids FOLDER TEXT.txt             the ids of each line of the text, by the vocabulary in FOLDER
// IN has the tensors `ids` (and perhaps `attention_mask` and `token_type_ids`) or `pixels`. IN and OUT are
// safetensors files.
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "core/hugging_face/weights.h"
#include "core/io/safetensors.h"
#include "core/models/make_model.h"
#include "core/quant/make_quantization.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_folder.h"
#include "core/trial/quantization_file.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/own_parts.h"
#include "tests/core/hugging_face/small_specs.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

absl::StatusOr<ModelInput> ReadInput(const char* in) {
  ASSIGN_OR_RETURN(const TensorMap tensors, LoadSafetensors(in));
  ModelInput input;
  for (const auto& [name, tensor] : {std::pair("ids", &input.ids), std::pair("pixels", &input.pixels),
                                     std::pair("attention_mask", &input.attention_mask),
                                     std::pair("token_type_ids", &input.token_type_ids)}) {
    if (tensors.count(name) != 0) *tensor = tensors.at(name);
  }
  return input;
}

absl::Status WriteLogits(Model& model, const char* in, const char* out, ActivationTap* tap) {
  ASSIGN_OR_RETURN(const ModelInput input, ReadInput(in));
  const at::NoGradGuard no_grad;
  return SaveSafetensors(out, {{"logits", model.Logits(input, tap)}});
}

// Ranges of four batches of random tokens or pixels.
absl::StatusOr<std::unique_ptr<Quantization>> Calibrate(const v1::TrialSpec& spec, Model& model) {
  ASSIGN_OR_RETURN(auto quantization,
                   MakeQuantization(spec.quantization(), spec.model().architecture_case()));
  for (int i = 0; i < 5; ++i) {
    if (i == 4) RETURN_IF_ERROR(quantization->Freeze());
    ModelInput input;
    if (spec.model().has_vit()) {
      input.pixels = torch::randn({2, 3, 8, 8});
    } else {
      input.ids = torch::randint(2, 31, {2, 10}, at::kLong);
    }
    model.Logits(input, quantization.get());
  }
  return quantization;
}

absl::Status Make(const char* spec_file, const char* folder, const char* in, const char* out) {
  std::ifstream file(spec_file);
  const v1::TrialSpec spec = SmallHubSpec({std::istreambuf_iterator<char>(file), {}});
  ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, MakeModel(spec, SmallHubShape(spec)));
  torch::manual_seed(3);
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : model->parameters()) parameter.normal_(0, 0.2);
  model->eval();
  ExportOptions options{.replace = true, .quantized = spec.has_quantization(), .files = {}};
  std::unique_ptr<Quantization> quantization;
  if (options.quantized) {
    ASSIGN_OR_RETURN(quantization, Calibrate(spec, *model));
    ASSIGN_OR_RETURN(options.files[kQuantizationFile],
                     QuantizationFile(spec.quantization(), quantization->Table()));
  }
  RETURN_IF_ERROR(ExportHuggingFaceModel(spec, *model, folder, options));
  return in == nullptr ? absl::OkStatus() : WriteLogits(*model, in, out, quantization.get());
}

absl::Status Logits(const char* folder, const char* in, const char* out) {
  ASSIGN_OR_RETURN(const HuggingFaceModel opened, OpenHuggingFaceModel(folder));
  return WriteLogits(*opened.model, in, out, nullptr);
}

absl::Status States(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const HuggingFaceModel opened, OpenHuggingFaceBody(folder));
  ASSIGN_OR_RETURN(const ModelInput input, ReadInput((folder / "in").c_str()));
  RecordingTap tap;
  const at::NoGradGuard no_grad;
  opened.model->Logits(input, &tap);
  return SaveSafetensors(folder / "body", tap.seen);
}

absl::Status Each(const char* list) {
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {
    const std::filesystem::path folder = line;
    const auto write = [&folder](const char* name, const std::function<absl::Status()>& work) {
      absl::Status status;
      try {
        status = work();
      } catch (const std::exception& error) {
        status = absl::InternalError(error.what());
      }
      if (!status.ok()) std::ofstream(folder / name) << status.message();
    };
    write("whole.txt",
          [&] { return Logits(folder.c_str(), (folder / "in").c_str(), (folder / "whole").c_str()); });
    write("body.txt", [&] { return States(folder); });
  }
  return absl::OkStatus();
}

absl::Status Ids(const char* folder, const char* texts) {
  ASSIGN_OR_RETURN(TokenizerDefinition definition, ReadTokenizerFolder(folder));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, MakeTokenizer(std::move(definition)));
  const std::unique_ptr<TextEncoder> encoder = tokenizer->MakeEncoder();
  std::ifstream file(texts);
  nlohmann::json all = nlohmann::json::array();
  for (const nlohmann::json& text : nlohmann::json::parse(file)) {
    std::vector<std::uint32_t> ids;
    encoder->Encode(text.get<std::string>(), &ids);
    all.push_back(ids);
  }
  std::printf("%s\n", all.dump().c_str());
  return absl::OkStatus();
}

}  // namespace

int Exit(const absl::Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "hub_tool: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace inlier

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "make") == 0)
    return inlier::Exit(inlier::Make(argv[2], argv[3], nullptr, nullptr));
  if (argc == 6 && std::strcmp(argv[1], "make") == 0)
    return inlier::Exit(inlier::Make(argv[2], argv[3], argv[4], argv[5]));
  if (argc == 5 && std::strcmp(argv[1], "logits") == 0)
    return inlier::Exit(inlier::Logits(argv[2], argv[3], argv[4]));
  if (argc == 3 && std::strcmp(argv[1], "each") == 0) return inlier::Exit(inlier::Each(argv[2]));
  if (argc == 4 && std::strcmp(argv[1], "ids") == 0) return inlier::Exit(inlier::Ids(argv[2], argv[3]));
  std::fprintf(stderr,
               "usage: hub_tool make SPEC.txt FOLDER [IN OUT] | logits FOLDER IN OUT | each LIST.txt | ids "
               "FOLDER TEXTS.json\n");
  return 2;
}
