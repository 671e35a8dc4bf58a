// HuggingFaceConfigOfSpec of config.h.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/config.h"
#include "spec/hugging_face/config_keys.h"
#include "spec/hugging_face/own_parts.h"
#include "spec/hugging_face/types/decoder_keys.h"
#include "spec/schema/field_path.h"
#include "spec/trial/architecture.h"
#include "spec/trial/checks/norm_checks.h"

namespace inlier {
namespace {

using nlohmann::json;

absl::Status Unsupported(const std::string& field, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat(field, ": transformers has no ", what, "; export a trial without it"));
}

const char* ActivationName(v1::Activation activation) {
  switch (activation) {
    case v1::GELU_ERF:
      return "gelu";
    case v1::GELU_TANH:
      return "gelu_new";
    case v1::RELU:
      return "relu";
    case v1::SILU:
      return "silu";
  }
  return "gelu";
}

// The keys that are fields.
json FieldsOf(const v1::TrialSpec& spec, const ModelType& type) {
  json config = json::object();
  for (const FieldKey& key : type.fields) {
    const auto path_of = [](const char* field) {
      return FieldPath::Known(v1::TrialSpec::descriptor(), field);
    };
    const FieldPath path = path_of(key.field);
    const bool optional = key.kind == FieldKey::kOptionalSize || key.kind == FieldKey::kOptionalNumber;
    if (optional && !path.Has(spec)) {
      config[key.key] = json();
      continue;
    }
    const bool same = *key.same_as != '\0' && !path.Has(spec);
    const std::string text = (same ? path_of(key.same_as) : path).GetText(spec);
    switch (key.kind) {
      case FieldKey::kSize:
      case FieldKey::kOptionalSize:
        config[key.key] = json::parse(text).get<std::uint64_t>() * (same ? key.times : 1);
        break;
      case FieldKey::kNumber:
      case FieldKey::kOptionalNumber:
        config[key.key] = json::parse(text).get<double>();
        break;
      case FieldKey::kFlag:
        config[key.key] = text == "true";
        break;
      case FieldKey::kNormFirst:
        config[key.key] = text == "PRE";
        break;
      case FieldKey::kActivation: {
        v1::Activation activation = v1::GELU_ERF;
        INLIER_CHECK(v1::Activation_Parse(text, &activation));
        config[key.key] = ActivationName(activation);
      }
    }
  }
  return config;
}

// Adds the names of `outputs` outputs, by default those of transformers.
void Labels(std::int64_t outputs, const std::vector<std::string>& names, json* config) {
  json labels = json::object(), ids = json::object();
  for (std::int64_t i = 0; i < outputs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::string name = at < names.size() ? names[at] : absl::StrCat("LABEL_", i);
    labels[std::to_string(i)] = name;
    ids[name] = i;
  }
  (*config)["id2label"] = labels;
  (*config)["label2id"] = ids;
}

// Refuses norms and positions that transformers' model of the architecture lacks.
absl::Status CheckForm(const v1::ModelSpec& spec) {
  absl::Status status;
  VisitArchitecture(spec, [&](std::string_view name, const auto& model) {
    const std::string path = absl::StrCat("model.", std::string(name));
    const std::string place = absl::StrCat(" in its ", std::string(name), " model");
    if constexpr (requires { model.position(); }) {
      if (!spec.has_vit() && !spec.has_opt() && (model.position() == v1::ROTARY) != spec.has_llama())
        status = Unsupported(path + ".position",
                             absl::StrCat(v1::Position_Name(model.position()), " positions", place));
    }
    const bool known = spec.has_opt() || (model.norm_placement() == v1::POST) == spec.has_bert();
    if (!known || model.norm_placement() == v1::PERI || model.norm_placement() == v1::ENDS)
      status = Unsupported(path + ".norm_placement",
                           absl::StrCat(v1::NormPlacement_Name(model.norm_placement()), " norms", place));
  });
  return status;
}

void AddBert(const v1::TrialSpec& spec, const ExportedData& data, json* config) {
  config->update({{"architectures", {"BertForMaskedLM"}},
                  {"position_embedding_type", "absolute"},
                  {"type_vocab_size", 2},
                  {"pad_token_id", data.pad.value_or(0)}});
  if (spec.data().has_classification()) {
    INLIER_CHECK(data.outputs >= 1);
    const bool number = spec.data().classification().target() == v1::ClassificationDataSpec::NUMBER;
    (*config)["architectures"] = {"BertForSequenceClassification"};
    (*config)["problem_type"] = number ? "regression" : "single_label_classification";
    Labels(data.outputs, data.class_names, config);
  }
}

// Adds the tokens that end a text and that pad, for transformers' generate; null where they are not known, because its
// defaults are tokens of another vocabulary.
void AddTokens(const ExportedData& data, json* config) {
  const auto id = [](const std::optional<std::int64_t>& token) { return token ? json(*token) : json(); };
  config->update({{"bos_token_id", id(data.separator)},
                  {"eos_token_id", id(data.separator)},
                  {"pad_token_id", id(data.pad)}});
}

// Refuses norms and masks that neither transformers nor the code beside a model has.
absl::Status CheckParts(const v1::TrialSpec& spec) {
  if (!IsCommonNorm(spec.norm()))
    return Unsupported("norm", absl::StrCat(v1::NormKind_Name(spec.norm()), " norms"));
  if (spec.norm_gate() > 0) return Unsupported("norm_gate", "gates of norms");
  if (spec.residual_gain() != 1) return Unsupported("residual_gain", "gains of what a layer adds");
  if (spec.attention().has_window()) return Unsupported("attention.window", "window of this model");
  if (spec.attention().document_mask()) return Unsupported("attention.document_mask", "masks by text");
  return absl::OkStatus();
}

// Refuses fields of a Llama that no class of transformers which is written here has.
absl::Status CheckLlama(const v1::LlamaSpec& llama) {
  const auto refuse = [](const char* field, const char* what) {
    return Unsupported(absl::StrCat("model.llama.", field),
                       absl::StrCat(what, " in the models that inlier exports"));
  };
  if (llama.window_from() > 0 || llama.has_window_period()) return refuse("window", "window in some layers");
  if (llama.rotary_share() != 1) return refuse("rotary_share", "share of rotated features");
  if (llama.parallel()) return refuse("parallel", "parallel layers");
  if (!llama.gated_ffn()) return refuse("gated_ffn", "feed-forward network without a gate");
  if (llama.has_score_cap()) return refuse("score_cap", "cap of scores");
  if (llama.has_logit_cap()) return refuse("logit_cap", "cap of logits");
  if (llama.has_score_size()) return refuse("score_size", "size of scores");
  if (llama.embedding_factor() != 1) return refuse("embedding_factor", "factor of embeddings");
  return absl::OkStatus();
}

// The class of transformers that has the model's parts: Qwen 2 for biases of queries, keys and values alone, Mistral for a window.
absl::StatusOr<const ModelType*> TypeOf(const v1::TrialSpec& spec, bool own_parts) {
  const ModelType* usual = FindModelType(ArchitectureName(spec.model()));
  if (!spec.model().has_llama()) return usual;
  const v1::LlamaSpec& llama = spec.model().llama();
  RETURN_IF_ERROR(CheckLlama(llama));
  const bool qkv = llama.has_qkv_biases() && llama.qkv_biases() != llama.biases();
  if (!qkv && !llama.has_window()) return usual;
  const char* field = qkv ? "model.llama.qkv_biases" : "model.llama.window";
  if (own_parts) return Unsupported(field, "model with it and a part of inlier's own");
  const bool ffn = llama.has_ffn_biases() ? llama.ffn_biases() : llama.biases();
  if (llama.biases() || ffn || (qkv && llama.has_window()))
    return Unsupported(field, "model with it and other biases");
  return FindModelType(qkv ? "qwen2" : "mistral");
}

void AddLlama(const v1::LlamaSpec& llama, const ModelType& type, json* config) {
  const bool is_llama = type.name == std::string("llama");
  (*config)["architectures"] = {is_llama                            ? "LlamaForCausalLM"
                                : type.name == std::string("qwen2") ? "Qwen2ForCausalLM"
                                                                    : "MistralForCausalLM"};
  if (is_llama) (*config)["mlp_bias"] = llama.has_ffn_biases() ? llama.ffn_biases() : llama.biases();
  if (!llama.has_head_size()) config->erase("head_dim");
  const json scaling = RotaryScalingKeys(llama);
  if (!scaling.is_null()) (*config)["rope_scaling"] = scaling;
  if (llama.rotary_scaling().has_dynamic())
    (*config)["max_position_embeddings"] = llama.rotary_scaling().dynamic().original_positions();
}

absl::Status AddRest(const v1::TrialSpec& spec, const ModelType& type, const ExportedData& data,
                     json* config) {
  RETURN_IF_ERROR(CheckForm(spec.model()));
  RETURN_IF_ERROR(CheckParts(spec));
  switch (spec.model().architecture_case()) {
    case v1::ModelSpec::kBert:
      AddBert(spec, data, config);
      break;
    case v1::ModelSpec::kOpt:
      config->update({{"architectures", {"OPTForCausalLM"}}, {"layerdrop", 0.0}});
      break;
    case v1::ModelSpec::kGpt2:
      config->update({{"architectures", {"GPT2LMHeadModel"}}, {"embd_pdrop", spec.dropout()}});
      break;
    case v1::ModelSpec::kLlama:
      AddLlama(spec.model().llama(), type, config);
      break;
    case v1::ModelSpec::kVit:
      config->update({{"architectures", {"ViTForImageClassification"}}, {"qkv_bias", true}});
      Labels(spec.model().vit().classes(), data.class_names, config);
      break;
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      return absl::InvalidArgumentError("model: nothing is chosen");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<json> HuggingFaceConfigOfSpec(const v1::TrialSpec& resolved, const ExportedData& data,
                                             bool quantized) {
  const bool own_parts = quantized || HasOwnParts(resolved);
  ASSIGN_OR_RETURN(const ModelType* type, TypeOf(resolved, own_parts));
  json config = FieldsOf(resolved, *type);
  config["model_type"] = type->name;
  config["torch_dtype"] = "float32";
  RETURN_IF_ERROR(AddRest(resolved, *type, data, &config));
  if (IsCausal(resolved.model())) AddTokens(data, &config);
  if (own_parts) AddOwnParts(resolved, quantized, &config);
  return config;
}

}  // namespace inlier
