// The inlier side of the comparison with transformers (tests/integration/transformers_test.py, model_folders_test.py):
//   hub_tool make SPEC.txt FOLDER [IN OUT]   a model of a TrialSpec (text form) with random weights, quantized if the
//                                            spec is, exported to FOLDER; its logits for IN
//   hub_tool logits FOLDER IN OUT            logits of the model in FOLDER
//   hub_tool each LIST.txt                   of each folder of the list, one a line: the logits for its `in` into `whole`, and the
//                                            states of its body into `body`; or the errors into whole.txt and body.txt
//   hub_tool ids FOLDER TEXT.txt             the ids of each line of the text, by the vocabulary in FOLDER
//   hub_tool serve                           these commands, one a line of the standard input, with tabs between their words; a
//                                            line of the standard output for each: what is wrong, or nothing
// IN has the tensors `ids` (and perhaps `attention_mask` and `token_type_ids`) or `pixels`. IN and OUT are
// safetensors files.
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "core/hugging_face/weights.h"
#include "core/io/safetensors.h"
#include "core/models/make_model.h"
#include "core/quant/make_quantization.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_folder.h"
#include "core/quant/quantization_file.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/own_parts.h"
#include "tests/core/hugging_face/small_specs.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

absl::StatusOr<ModelInput> ReadInput(const std::string& in) {
  ASSIGN_OR_RETURN(const TensorMap tensors, LoadSafetensors(in));
  ModelInput input;
  for (const auto& [name, tensor] : {std::pair("ids", &input.ids), std::pair("pixels", &input.pixels),
                                     std::pair("attention_mask", &input.attention_mask),
                                     std::pair("token_type_ids", &input.token_type_ids)}) {
    if (tensors.count(name) != 0) *tensor = tensors.at(name);
  }
  return input;
}

absl::Status WriteLogits(Model& model, const std::string& in, const std::string& out, ActivationTap* tap) {
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

// Without logits where `in` is empty.
absl::Status Make(const std::string& spec_file, const std::string& folder, const std::string& in,
                  const std::string& out) {
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
  return in.empty() ? absl::OkStatus() : WriteLogits(*model, in, out, quantization.get());
}

absl::Status Logits(const std::string& folder, const std::string& in, const std::string& out) {
  ASSIGN_OR_RETURN(const HuggingFaceModel opened, OpenHuggingFaceModel(folder));
  return WriteLogits(*opened.model, in, out, nullptr);
}

absl::Status States(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const HuggingFaceModel opened, OpenHuggingFaceBody(folder));
  ASSIGN_OR_RETURN(const ModelInput input, ReadInput(folder / "in"));
  RecordingTap tap;
  const at::NoGradGuard no_grad;
  opened.model->Logits(input, &tap);
  return SaveSafetensors(folder / "body", tap.seen);
}

absl::Status Caught(const std::function<absl::Status()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::Status Each(const std::string& list) {
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {
    const std::filesystem::path folder = line;
    const auto write = [&folder](const char* name, const std::function<absl::Status()>& work) {
      const absl::Status status = Caught(work);
      if (!status.ok()) std::ofstream(folder / name) << status.message();
    };
    write("whole.txt", [&] { return Logits(folder, folder / "in", folder / "whole"); });
    write("body.txt", [&] { return States(folder); });
  }
  return absl::OkStatus();
}

absl::Status Ids(const std::string& folder, const std::string& texts) {
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

absl::Status Run(const std::vector<std::string>& words) {
  const auto is = [&words](const char* name, std::size_t size) {
    return words.size() == size && words[0] == name;
  };
  if (is("make", 3)) return Make(words[1], words[2], "", "");
  if (is("make", 5)) return Make(words[1], words[2], words[3], words[4]);
  if (is("logits", 4)) return Logits(words[1], words[2], words[3]);
  if (is("each", 2)) return Each(words[1]);
  if (is("ids", 3)) return Ids(words[1], words[2]);
  return absl::InvalidArgumentError(
      "usage: hub_tool make SPEC.txt FOLDER [IN OUT] | logits FOLDER IN OUT | each LIST.txt | ids FOLDER "
      "TEXTS.json | serve");
}

absl::Status Serve() {
  for (std::string line; std::getline(std::cin, line);) {
    const absl::Status status = Caught([&line] { return Run(absl::StrSplit(line, '\t')); });
    std::printf("%s\n", absl::StrReplaceAll(status.message(), {{"\n", " "}}).c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const absl::Status status =
      words == std::vector<std::string>{"serve"} ? inlier::Serve() : inlier::Run(words);
  if (status.ok()) return 0;
  std::fprintf(stderr, "hub_tool: %s\n", std::string(status.message()).c_str());
  return 1;
}
