#include "core/hugging_face/weights.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/files/mapped_file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/utf8.h"
#include "core/hugging_face/export_folder.h"
#include "core/hugging_face/own_code.h"
#include "core/hugging_face/stored_forms.h"
#include "core/hugging_face/weight_files.h"
#include "core/io/safetensors.h"
#include "core/models/bert_classifier.h"
#include "core/models/embedding_projection.h"
#include "core/models/make_model.h"
#include "core/models/parameter_names.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/own_parts.h"

namespace inlier {
namespace {

bool StartsWithAny(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

bool EndsWithAny(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [name](std::string_view end) { return name.ends_with(end); });
}

absl::Status InFile(const std::filesystem::path& file, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": ", status.message()));
}

// Names under which a file may store the parameter, the most likely first.
std::vector<std::string> StoredNames(const std::string& parameter, const std::string& body) {
  std::vector<std::string> names = {parameter};
  if (absl::StartsWith(parameter, body)) {
    names.push_back(parameter.substr(body.size()));
    // The body of a LlamaForQuestionAnswering.
    if (body == "model.") names.push_back(absl::StrCat("transformer.", names.back()));
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

// Parameters that only the head uses: a base model has none of them, or the pooler only.
bool IsHead(const std::string& parameter) {
  return StartsWithAny(parameter, {"cls.", "bert.pooler.", "lm_head.", "classifier."});
}

// Parameters that a model trained without a variant does not have when training continues with it.
bool IsVariant(const std::string& parameter) {
  return IsGateParameter(parameter) || IsKeyValueBias(parameter) || IsQueryKeyNorm(parameter) ||
         parameter == kRegisterTokens || absl::EndsWith(parameter, ".sinks");
}

bool IsHeadOrVariant(const std::string& parameter) { return IsHead(parameter) || IsVariant(parameter); }

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
  if (EndsWithAny(name, {"position_embeddings.weight", "embed_positions.weight", "wpe.weight"}))
    return absl::StrCat("; give the model max_positions ", rows);
  if (EndsWithAny(name, {"word_embeddings.weight", "embed_tokens.weight", "wte.weight"}))
    return absl::StrCat("; give the model vocab_size ", rows, " and the tokenizer that it was trained with");
  return "";
}

// How the tensors of files become a model.
struct Copying {
  StoredForms forms;                     // Of the class that saved them.
  std::string where;                     // The source, in messages.
  std::string wanted_by;                 // kConfig or kTrial.
  bool (*may_lack)(const std::string&);  // Parameters without a tensor.
  bool other_head = false;               // The files have a head that the model does not have.
  // The stored row of each of a classifier's outputs; empty: as they are.
  std::vector<std::int64_t> outputs_in = {};
};

class WeightCopy {
 public:
  WeightCopy(const Copying& how, const WeightFiles& files) : how_(how), files_(files) {}

  // Returns the parameters without a tensor.
  absl::StatusOr<std::vector<std::string>> Into(Model& model) {
    const c10::NoGradGuard no_grad;
    for (auto& item : model.named_parameters()) RETURN_IF_ERROR(Copy(item.key(), item.value()));
    for (const auto& [name, reader] : files_.names()) {
      if (used_.count(name) > 0 || MayBeLeft(name)) continue;
      return absl::InvalidArgumentError(absl::StrCat(how_.where, ": the model of ", how_.wanted_by,
                                                     " has no place for the ", files_.PlaceOf(name)));
    }
    return std::move(missing_);
  }

 private:
  absl::Status Copy(const std::string& parameter, at::Tensor& value) {
    masked_model_ = masked_model_ || absl::StartsWith(parameter, "cls.predictions.");
    const StoredForm form = how_.forms.Of(parameter);
    std::vector<std::string> stored;
    for (const std::string& tensor : form.tensors) {
      for (const std::string& name : StoredNames(tensor, how_.forms.body())) {
        if (files_.Find(name) == nullptr) continue;
        stored.push_back(name);
        break;
      }
    }
    if (stored.size() < form.tensors.size()) {
      if (!how_.may_lack(parameter)) {
        return absl::InvalidArgumentError(absl::StrCat(how_.where, ": the tensor ", parameter, " that ",
                                                       how_.wanted_by, " asks for is missing"));
      }
      missing_.push_back(parameter);
      return absl::OkStatus();
    }
    if (form.make == nullptr) RETURN_IF_ERROR(CheckShape(parameter, value, files_.Find(stored[0])->shape));
    std::vector<at::Tensor> tensors;
    for (const std::string& name : stored) {
      ASSIGN_OR_RETURN(tensors.emplace_back(), files_.Load(name));
    }
    at::Tensor tensor;
    if (form.make != nullptr) {
      ASSIGN_OR_RETURN(tensor, form.make(tensors));
      RETURN_IF_ERROR(CheckShape(parameter, value, tensor.sizes().vec()));
    } else {
      tensor = tensors[0];
    }
    if (!how_.outputs_in.empty() && absl::StartsWith(parameter, "classifier."))
      tensor = tensor.index_select(0, at::tensor(how_.outputs_in, at::kLong));
    value.copy_(tensor);
    for (const std::string& name : stored) {
      used_.insert(name);
      has_body_ =
          has_body_ || absl::StartsWith(name, how_.forms.body()) || absl::StartsWith(name, "transformer.");
    }
    return absl::OkStatus();
  }

  absl::Status CheckShape(const std::string& parameter, const at::Tensor& value,
                          const std::vector<std::int64_t>& shape) const {
    if (value.sizes() == at::IntArrayRef(shape)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        how_.where, ": the tensor ", parameter, " has shape ", Shape(shape), " where ", how_.wanted_by,
        " asks for ", Shape(value.sizes()), TableRemedy(how_.wanted_by, parameter, shape)));
  }

  // Tensors that a file may have in addition to the parameters: buffers, tied copies, and heads for other purposes.
  bool MayBeLeft(const std::string& name) const {
    if (EndsWithAny(name, {"position_ids", ".attn.bias", ".attn.masked_bias", "attention.bias",
                           "attention.masked_bias", "rotary_emb.inv_freq", "embeddings.mask_token"})) {
      return true;
    }
    if (absl::StartsWith(name, "optimizer/")) return true;
    const std::string bare(absl::StripPrefix(name, how_.forms.body()));
    // A class of transformers is a body and other parts.
    if (how_.other_head && has_body_ && bare == name) return true;
    if (!masked_model_ && absl::StartsWith(bare, "cls.predictions.")) return true;
    return StartsWithAny(bare, {"pooler.", "cls.predictions.decoder.", "cls.seq_relationship.", "lm_head.",
                                "classifier.", "multiple_choice_head.", "vocab_projector.", "embed_out."});
  }

  const Copying& how_;
  const WeightFiles& files_;
  std::set<std::string> used_;
  std::vector<std::string> missing_;
  bool masked_model_ = false;
  bool has_body_ = false;
};

// LABEL_0, LABEL_1, …: the names that transformers gives to classes without names.
bool AreUnnamed(const std::vector<std::string>& stored) {
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i] != absl::StrCat("LABEL_", i)) return false;
  }
  return true;
}

// The stored outputs of a classifier in the order of the data's classes, by their names; those that the data do not have
// come last. Outputs without names are in the order of the classes, as many as there are.
absl::StatusOr<std::vector<std::int64_t>> OutputsOf(const std::vector<std::string>& classes,
                                                    const std::vector<std::string>& stored) {
  std::vector<std::int64_t> outputs, others;
  if (AreUnnamed(stored) && stored.size() == classes.size() &&
      std::none_of(classes.begin(), classes.end(), [](const std::string& name) {
        return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
      })) {
    outputs.resize(stored.size());
    std::iota(outputs.begin(), outputs.end(), 0);
    spdlog::warn(
        "outputs_without_names classes={} reason=\"id2label names none, so that output 0 is taken for the "
        "data's first class, and on; write the names there where the order is another\"",
        LogText(absl::StrJoin(classes, ", ")));
    return outputs;
  }
  std::set<std::int64_t> used;
  for (const std::string& name : classes) {
    // LABEL_3 is the class that the data call 3.
    const auto is_it = [&name](const std::string& label) {
      return label == name || label == "LABEL_" + name;
    };
    const auto found = std::find_if(stored.begin(), stored.end(), is_it);
    if (std::count_if(stored.begin(), stored.end(), is_it) != 1 ||
        !used.insert(found - stored.begin()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "id2label: of its ", stored.size(), " names ", found == stored.end() ? "none" : "not one alone",
          " is that of the data's class ", Quoted(name),
          "; write the data's names there, in the order of the outputs, or leave classifier.* out of the "
          "weights for a new classifier"));
    }
    outputs.push_back(found - stored.begin());
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(stored.size()); ++i) {
    if (used.count(i) == 0) others.push_back(i);
  }
  outputs.insert(outputs.end(), others.begin(), others.end());
  return outputs;
}

// Multiplies the projections of EmbProj, where there are any, into table and head.
void AbsorbEmbeddingProjection(const v1::TrialSpec& spec, TensorMap& tensors) {
  if (!spec.embedding_projection()) return;
  const auto take = [&tensors](const char* name) {
    return tensors.extract(absl::StrCat(name, ".weight")).mapped();
  };
  const EmbeddingProjection projection{take(kEmbeddingProjection), take(kHeadProjection)};
  at::Tensor& table =
      tensors.at(spec.model().has_gpt2() ? "transformer.wte.weight" : "model.embed_tokens.weight");
  at::Tensor& head = tensors.at("lm_head.weight");
  table = projection.Embedded(table).contiguous();
  head = projection.AbsorbedHead(head).contiguous();
}

// The tensors that transformers expects in the file: our parameters, with those that it requires filled in.
TensorMap TensorsToExport(const v1::TrialSpec& spec, const Model& model) {
  TensorMap tensors;
  for (const auto& item : model.named_parameters()) tensors[item.key()] = item.value().detach();
  AbsorbEmbeddingProjection(spec, tensors);
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

absl::StatusOr<HuggingFaceModel> Open(const std::filesystem::path& folder, FolderPart part) {
  ASSIGN_OR_RETURN(HuggingFaceConfig config, ReadHuggingFaceConfig(folder, part));
  ASSIGN_OR_RETURN(const WeightFiles files, WeightFiles::Open(folder, {}));
  RETURN_IF_ERROR(InFile(folder / kConfig, files.CheckSizes(config.spec, config.model_type)));
  RETURN_IF_ERROR(files.CheckMemory());
  ModelShape shape;
  if (config.spec.data().has_classification()) {
    const SafetensorsEntry* classifier = files.Find(kClassifierWeight);
    if (classifier == nullptr || classifier->shape.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder.string(), ": no matrix classifier.weight, which config.json asks for"));
    }
    shape.classes = classifier->shape[0];
  }
  HuggingFaceModel opened{.spec = std::move(config.spec), .model = nullptr};
  ASSIGN_OR_RETURN(opened.model, MakeModel(opened.spec, shape));
  const Copying how{.forms = StoredForms(config.model_type, opened.spec.model()),
                    .where = folder.string(),
                    .wanted_by = kConfig,
                    .may_lack = IsHead,
                    .other_head = config.other_head};
  ASSIGN_OR_RETURN(const std::vector<std::string> missing, WeightCopy(how, files).Into(*opened.model));
  opened.has_head = missing.empty() && !config.other_head;
  opened.model->eval();
  return opened;
}

}  // namespace

absl::StatusOr<HuggingFaceModel> OpenHuggingFaceModel(const std::filesystem::path& folder) {
  return Open(folder, FolderPart::kWhole);
}

absl::StatusOr<HuggingFaceModel> OpenHuggingFaceBody(const std::filesystem::path& folder) {
  return Open(folder, FolderPart::kBody);
}

absl::StatusOr<std::vector<std::string>> LoadStartingWeights(const std::filesystem::path& source,
                                                             const StartingTrial& trial, Model& model,
                                                             const DataRoots& roots) {
  RETURN_IF_ERROR(roots.Check(source));
  Copying how{.forms = StoredForms("", trial.spec.model()),
              .where = source.string(),
              .wanted_by = kTrial,
              .may_lack = IsHeadOrVariant};
  ASSIGN_OR_RETURN(const WeightFiles files, WeightFiles::Open(source, roots));
  std::vector<std::string> stored_classes = trial.source_classes;
  if (std::filesystem::is_directory(source)) {
    const bool classifies = trial.spec.data().has_classification() || trial.spec.model().has_vit();
    ASSIGN_OR_RETURN(
        const HuggingFaceConfig config,
        ReadHuggingFaceConfig(source, classifies ? FolderPart::kWhole : FolderPart::kBody, roots));
    RETURN_IF_ERROR(InFile(source / kConfig, CheckSameFunction(config.spec, trial.spec, config.model_type)));
    how.forms = StoredForms(config.model_type, trial.spec.model());
    how.other_head = config.other_head;
    stored_classes = config.class_names;
  }
  // One output is a number.
  if (stored_classes.size() > 1 && !trial.classes.empty() && files.Find(kClassifierWeight) != nullptr) {
    const auto rows = files.Find(kClassifierWeight)->shape;
    if (rows.empty() || rows[0] != static_cast<std::int64_t>(stored_classes.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          source.string(), ": id2label: has another number of names than the classifier has outputs"));
    }
    const auto outputs = OutputsOf(trial.classes, stored_classes);
    RETURN_IF_ERROR(InFile(source, outputs.status()));
    how.outputs_in = *outputs;
  }
  return WeightCopy(how, files).Into(model);
}

absl::Status ExportHuggingFaceModel(const v1::TrialSpec& resolved, const Model& model,
                                    const std::filesystem::path& folder, const ExportOptions& options) {
  ExportedData data = options.data;
  if (const auto* classifier = dynamic_cast<const BertClassifier*>(&model))
    data.outputs = classifier->outputs();
  ASSIGN_OR_RETURN(nlohmann::json config, HuggingFaceConfigOfSpec(resolved, data, options.quantized));
  TensorMap tensors = TensorsToExport(resolved, model);
  if (options.compress) {
    options.compress(&tensors);
    config["quantization_config"] = nlohmann::json::parse(options.quantization_config);
  }
  ASSIGN_OR_RETURN(ExportFolder made, ExportFolder::Make(folder, options.replace));
  RETURN_IF_ERROR(SaveSafetensors(made.path() / "model.safetensors", tensors, {{"format", "pt"}}));
  RETURN_IF_ERROR(made.Write(kConfig, config.dump(2) + "\n"));
  if (config.contains("auto_map")) {
    for (const auto& [name, content] : OwnCode()) RETURN_IF_ERROR(made.Write(name, content));
  }
  for (const auto& [name, path] : ScriptFiles(resolved)) {
    ASSIGN_OR_RETURN(const MappedFile script, MappedFile::Open(path));
    RETURN_IF_ERROR(made.Write(name, script.bytes()));
  }
  for (const auto& [name, content] : options.files) RETURN_IF_ERROR(made.Write(name, content));
  return made.Commit();
}

}  // namespace inlier
