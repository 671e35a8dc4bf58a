#include "core/hugging_face/weights.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json_text.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "core/hugging_face/config.h"
#include "core/hugging_face/export_folder.h"
#include "core/hugging_face/own_parts.h"
#include "core/io/safetensors.h"
#include "core/models/bert_classifier.h"
#include "core/models/make_model.h"
#include "core/models/parameter_names.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

// All tensors of the folder: names and files.
class WeightFiles {
 public:
  static absl::StatusOr<WeightFiles> Open(const std::filesystem::path& folder, const DataRoots& roots) {
    WeightFiles files;
    const std::filesystem::path index = folder / "model.safetensors.index.json";
    std::set<std::string> names = {"model.safetensors"};
    if (std::filesystem::exists(index)) {
      ASSIGN_OR_RETURN(names, ShardsOf(folder, index, roots));
    } else if (!std::filesystem::exists(folder / "model.safetensors")) {
      return absl::NotFoundError(absl::StrCat((folder / "model.safetensors").string(),
                                              ": there is no such file; save the model with "
                                              "safe_serialization=True (pickled .bin files are not read)"));
    }
    for (const std::string& name : names) {
      RETURN_IF_ERROR(files.Add(folder / name, roots));
    }
    return files;
  }

  static absl::StatusOr<WeightFiles> OpenFile(const std::filesystem::path& path, const DataRoots& roots) {
    WeightFiles files;
    RETURN_IF_ERROR(files.Add(path, roots));
    return files;
  }

  const SafetensorsEntry* Find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &readers_[found->second].entries().at(name);
  }
  absl::StatusOr<at::Tensor> Load(const std::string& name) const {
    return readers_[tensors_.at(name)].LoadWeight(name);
  }
  const std::map<std::string, std::size_t>& names() const { return tensors_; }
  // The name of the file with this tensor.
  std::string FileOf(const std::string& name) const {
    return readers_[tensors_.at(name)].path().filename().string();
  }

 private:
  // The files that an index names, which are all in its folder.
  static absl::StatusOr<std::set<std::string>> ShardsOf(const std::filesystem::path& folder,
                                                        const std::filesystem::path& index,
                                                        const DataRoots& roots) {
    ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(index, roots));
    const absl::StatusOr<nlohmann::json> json = ParseJsonText(file.bytes(), index.string());
    if (!json.ok()) return absl::DataLossError(json.status().message());
    if (!json->is_object() || !json->contains("weight_map") || !(*json)["weight_map"].is_object())
      return absl::DataLossError(index.string() + ": is not an index of shards: it has no weight_map");
    std::set<std::string> names;
    std::error_code error;
    for (const auto& [tensor, name] : (*json)["weight_map"].items()) {
      const std::string shard = name.is_string() ? name.get<std::string>() : "";
      if (names.count(shard) > 0) continue;
      if (shard.empty() || shard.find('/') != std::string::npos ||
          !std::filesystem::exists(folder / shard, error)) {
        return absl::DataLossError(
            absl::StrCat(index.string(), ": one of its tensors is in no file of this folder"));
      }
      names.insert(shard);
    }
    return names;
  }

  absl::Status Add(const std::filesystem::path& path, const DataRoots& roots) {
    ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(path, roots));
    for (const auto& [tensor, entry] : reader.entries()) tensors_.emplace(tensor, readers_.size());
    readers_.push_back(std::move(reader));
    return absl::OkStatus();
  }

  std::map<std::string, std::size_t> tensors_;  // Name to reader.
  std::vector<SafetensorsReader> readers_;
};

// Names under which a file may store the parameter, the most likely first.
std::vector<std::string> StoredNames(const std::string& parameter) {
  std::vector<std::string> names = {parameter};
  for (const char* base : {"bert.", "transformer.", "model.", "vit."}) {
    if (absl::StartsWith(parameter, base)) names.push_back(parameter.substr(std::string_view(base).size()));
  }
  const std::size_t count = names.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto& [ours, old] :
         {std::pair("LayerNorm.weight", "LayerNorm.gamma"), std::pair("LayerNorm.bias", "LayerNorm.beta")}) {
      if (absl::EndsWith(names[i], ours))
        names.push_back(names[i].substr(0, names[i].size() - std::string_view(ours).size()) + old);
    }
  }
  return names;
}

// Tensors that a file may have in addition to the parameters: buffers, tied copies, and heads for other purposes.
bool MayBeLeft(const std::string& name, bool masked_model) {
  if (!masked_model && absl::StartsWith(name, "cls.predictions.")) return true;
  for (const char* end : {"position_ids", ".attn.bias", ".attn.masked_bias", "rotary_emb.inv_freq"}) {
    if (absl::EndsWith(name, end)) return true;
  }
  if (absl::StartsWith(name, "optimizer/")) return true;
  for (const char* part :
       {"pooler.", "cls.predictions.decoder.", "cls.seq_relationship.", "lm_head.", "classifier."}) {
    if (absl::StrContains(name, part)) return true;
  }
  return false;
}

// Parameters that only the head uses: a base model has none of them, or the pooler only.
bool IsHead(const std::string& parameter) {
  return absl::StartsWith(parameter, "cls.") || absl::StartsWith(parameter, "bert.pooler.") ||
         absl::StartsWith(parameter, "lm_head.") || absl::StartsWith(parameter, "classifier.");
}

// Parameters that a model trained without a variant does not have when training continues with it.
bool IsVariant(const std::string& parameter) {
  return IsGateParameter(parameter) || IsKeyValueBias(parameter) || IsQueryKeyNorm(parameter) ||
         parameter == kRegisterTokens || absl::EndsWith(parameter, ".sinks");
}

std::string Shape(at::IntArrayRef sizes) { return absl::StrCat("(", absl::StrJoin(sizes, ", "), ")"); }

// Source of the wanted shapes, in messages.
constexpr char kConfig[] = "config.json";
constexpr char kTrial[] = "the trial's model";

// The setting that gives a trial's table the stored size; nothing for other tensors.
std::string TableRemedy(const std::string& wanted_by, const std::string& name,
                        const std::vector<std::int64_t>& stored) {
  if (wanted_by != kTrial || stored.empty()) return "";
  std::int64_t rows = stored[0];
  if (absl::EndsWith(name, "embed_positions.weight")) rows -= 2;  // OPT's first two rows are unused.
  if (absl::EndsWith(name, "position_embeddings.weight") || absl::EndsWith(name, "embed_positions.weight") ||
      absl::EndsWith(name, "wpe.weight")) {
    return absl::StrCat("; give the model max_positions ", rows);
  }
  if (absl::EndsWith(name, "word_embeddings.weight") || absl::EndsWith(name, "embed_tokens.weight") ||
      absl::EndsWith(name, "wte.weight")) {
    return absl::StrCat("; give the model vocab_size ", rows, " and the tokenizer that it was trained with");
  }
  return "";
}

// Copies the files' tensors into the model; returns the parameters without a tensor. `wanted_by`: one of the
// two above.
absl::StatusOr<std::vector<std::string>> CopyWeights(const std::string& where, const WeightFiles& files,
                                                     const std::string& wanted_by,
                                                     bool (*may_lack)(const std::string&), Model& model) {
  std::set<std::string> used;
  std::vector<std::string> missing;
  bool masked_model = false;
  const c10::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    masked_model = masked_model || absl::StartsWith(item.key(), "cls.predictions.");
    const SafetensorsEntry* entry = nullptr;
    std::string stored;
    for (const std::string& name : StoredNames(item.key())) {
      entry = files.Find(name);
      stored = name;
      if (entry != nullptr) break;
    }
    if (entry == nullptr) {
      if (!may_lack(item.key())) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, ": the tensor ", item.key(), " that ", wanted_by, " asks for is missing"));
      }
      missing.push_back(item.key());
      continue;
    }
    if (item.value().sizes() != at::IntArrayRef(entry->shape)) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": the tensor ", item.key(), " has shape ", Shape(entry->shape), " where ", wanted_by,
          " asks for ", Shape(item.value().sizes()), TableRemedy(wanted_by, item.key(), entry->shape)));
    }
    ASSIGN_OR_RETURN(const at::Tensor tensor, files.Load(stored));
    item.value().copy_(tensor);
    used.insert(stored);
  }
  for (const auto& [name, reader] : files.names()) {
    if (used.count(name) == 0 && !MayBeLeft(name, masked_model)) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": the model of ", wanted_by, " has no place for the tensor number ",
                       files.Find(name)->number, " of ", files.FileOf(name), "'s header"));
    }
  }
  return missing;
}

// The tensors that transformers expects in the file: our parameters, with those that it requires filled in.
TensorMap TensorsToExport(const v1::TrialSpec& spec, const Model& model) {
  TensorMap tensors;
  for (const auto& item : model.named_parameters()) tensors[item.key()] = item.value().detach();
  if (spec.norm() == v1::RMS_NORM_S && spec.model().has_llama()) {
    // One gain for all channels equals a vector of it.
    for (auto& [name, tensor] : tensors) {
      if (absl::StrContains(name, "norm.weight") && tensor.numel() == 1)
        tensor = tensor.expand({spec.model().llama().hidden_size()}).contiguous();
    }
  }
  const auto zeros = [&tensors](const std::string& name, at::IntArrayRef shape) {
    if (tensors.count(name) == 0) tensors[name] = at::zeros(shape, at::kFloat);
  };
  if (spec.model().has_bert()) {
    const v1::BertSpec& bert = spec.model().bert();
    zeros("bert.embeddings.position_embeddings.weight", {bert.max_positions(), bert.hidden_size()});
  }
  if (spec.model().has_vit()) {
    const std::int64_t side = spec.model().vit().image_size() / spec.model().vit().patch_size();
    zeros("vit.embeddings.position_embeddings", {1, side * side + 1, spec.model().vit().hidden_size()});
  }
  if (spec.model().has_gpt2()) {
    const v1::Gpt2Spec& gpt2 = spec.model().gpt2();
    const std::int64_t d = gpt2.hidden_size();
    zeros("transformer.wpe.weight", {gpt2.max_positions(), d});
    for (std::uint32_t i = 0; i < gpt2.layers(); ++i) {
      const std::string layer = absl::StrCat("transformer.h.", i, ".");
      zeros(layer + "attn.c_attn.bias", {3 * d});
      zeros(layer + "attn.c_proj.bias", {d});
      zeros(layer + "mlp.c_fc.bias", {gpt2.ffn_size()});
      zeros(layer + "mlp.c_proj.bias", {d});
    }
  }
  return tensors;
}

// The model of `spec` with the folder's weights.
absl::StatusOr<HuggingFaceModel> OpenAs(v1::TrialSpec spec, const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(const WeightFiles files, WeightFiles::Open(folder, {}));
  ModelShape shape;
  if (spec.data().has_classification()) {
    const SafetensorsEntry* classifier = files.Find(kClassifierWeight);
    if (classifier == nullptr || classifier->shape.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder.string(), ": no matrix classifier.weight, which config.json asks for"));
    }
    shape.classes = classifier->shape[0];
  }
  HuggingFaceModel opened{.spec = std::move(spec), .model = nullptr};
  ASSIGN_OR_RETURN(opened.model, MakeModel(opened.spec, shape));
  ASSIGN_OR_RETURN(const std::vector<std::string> missing,
                   CopyWeights(folder.string(), files, kConfig, IsHead, *opened.model));
  opened.has_head = missing.empty();
  opened.model->eval();
  return opened;
}

}  // namespace

absl::StatusOr<HuggingFaceModel> OpenHuggingFaceModel(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(v1::TrialSpec spec, ReadHuggingFaceConfig(folder));
  return OpenAs(std::move(spec), folder);
}

absl::StatusOr<HuggingFaceModel> OpenHuggingFaceBody(const std::filesystem::path& folder) {
  ASSIGN_OR_RETURN(v1::TrialSpec spec, ReadHuggingFaceConfig(folder));
  spec.clear_data();
  return OpenAs(std::move(spec), folder);
}

absl::StatusOr<std::vector<std::string>> LoadStartingWeights(const std::filesystem::path& source,
                                                             Model& model, const DataRoots& roots) {
  RETURN_IF_ERROR(roots.Check(source));
  ASSIGN_OR_RETURN(const WeightFiles files, std::filesystem::is_directory(source)
                                                ? WeightFiles::Open(source, roots)
                                                : WeightFiles::OpenFile(source, roots));
  const auto may_lack = [](const std::string& name) { return IsHead(name) || IsVariant(name); };
  return CopyWeights(source.string(), files, kTrial, may_lack, model);
}

absl::Status ExportHuggingFaceModel(const v1::TrialSpec& resolved, const Model& model,
                                    const std::filesystem::path& folder, const ExportOptions& options) {
  const auto* classifier = dynamic_cast<const BertClassifier*>(&model);
  ASSIGN_OR_RETURN(const nlohmann::json config,
                   HuggingFaceConfigOfSpec(resolved, classifier == nullptr ? 0 : classifier->outputs(),
                                           options.quantized));
  ASSIGN_OR_RETURN(ExportFolder made, ExportFolder::Make(folder, options.replace));
  RETURN_IF_ERROR(SaveSafetensors(made.path() / "model.safetensors", TensorsToExport(resolved, model),
                                  {{"format", "pt"}}));
  RETURN_IF_ERROR(made.Write("config.json", config.dump(2) + "\n"));
  if (config.contains("auto_map")) {
    for (const auto& [name, content] : OwnCode()) RETURN_IF_ERROR(made.Write(name, content));
  }
  for (const auto& [name, content] : options.files) RETURN_IF_ERROR(made.Write(name, content));
  return made.Commit();
}

}  // namespace inlier
