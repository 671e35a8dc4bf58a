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
#include "spec/schema/field_path.h"
#include "spec/trial/architecture.h"

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

// The fields that are keys.
json FieldsOf(const v1::TrialSpec& spec) {
  json config = json::object();
  for (const FieldKey& key : FieldKeysOf(ArchitectureName(spec.model()))) {
    const auto path_of = [](const char* field) {
      FieldPath path;
      INLIER_CHECK(FieldPath::TryParse(v1::TrialSpec::descriptor(), field, &path).empty());
      return path;
    };
    const FieldPath path = path_of(key.field);
    const bool same = *key.same_as != '\0' && !path.Has(spec);
    const std::string text = (same ? path_of(key.same_as) : path).GetText(spec);
    switch (key.kind) {
      case FieldKey::kSize:
        config[key.key] = json::parse(text).get<std::uint64_t>() * (same ? key.times : 1);
        break;
      case FieldKey::kNumber:
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

// The names of `outputs` outputs; transformers' default for those that have none.
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

absl::Status AddBert(const v1::TrialSpec& spec, const ExportedData& data, json* config) {
  const v1::BertSpec& bert = spec.model().bert();
  if (bert.norm_placement() != v1::POST)
    return Unsupported("model.bert.norm_placement", "PRE norms in its bert model");
  if (bert.position() == v1::ROTARY)
    return Unsupported("model.bert.position", "ROTARY positions in its bert model");
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
  return absl::OkStatus();
}

// The tokens that end a text and that pad, for transformers' generate. Null where they are not known: its defaults are
// tokens of another vocabulary.
void AddTokens(const ExportedData& data, json* config) {
  const auto id = [](const std::optional<std::int64_t>& token) { return token ? json(*token) : json(); };
  config->update({{"bos_token_id", id(data.separator)},
                  {"eos_token_id", id(data.separator)},
                  {"pad_token_id", id(data.pad)}});
}

absl::Status AddGpt2(const v1::TrialSpec& spec, json* config) {
  const v1::Gpt2Spec& gpt2 = spec.model().gpt2();
  if (gpt2.norm_placement() != v1::PRE)
    return Unsupported("model.gpt2.norm_placement", "POST norms in its gpt2 model");
  if (gpt2.position() == v1::ROTARY)
    return Unsupported("model.gpt2.position", "ROTARY positions in its gpt2 model");
  config->update({{"architectures", {"GPT2LMHeadModel"}}, {"embd_pdrop", spec.dropout()}});
  return absl::OkStatus();
}

absl::Status AddLlama(const v1::TrialSpec& spec, json* config) {
  const v1::LlamaSpec& llama = spec.model().llama();
  if (llama.norm_placement() != v1::PRE)
    return Unsupported("model.llama.norm_placement", "POST norms in its llama model");
  if (llama.position() != v1::ROTARY)
    return Unsupported("model.llama.position",
                       v1::Position_Name(llama.position()) + " positions in its llama model");
  config->update({{"architectures", {"LlamaForCausalLM"}}, {"mlp_bias", llama.biases()}});
  return absl::OkStatus();
}

absl::Status AddVit(const v1::TrialSpec& spec, const ExportedData& data, json* config) {
  const v1::VitSpec& vit = spec.model().vit();
  if (vit.norm_placement() != v1::PRE)
    return Unsupported("model.vit.norm_placement", "POST norms in its vit model");
  config->update({{"architectures", {"ViTForImageClassification"}}, {"qkv_bias", true}});
  Labels(vit.classes(), data.class_names, config);
  return absl::OkStatus();
}

absl::Status AddRest(const v1::TrialSpec& spec, const ExportedData& data, json* config) {
  switch (spec.model().architecture_case()) {
    case v1::ModelSpec::kBert:
      return AddBert(spec, data, config);
    case v1::ModelSpec::kOpt:
      config->update({{"architectures", {"OPTForCausalLM"}}, {"layerdrop", 0.0}});
      return absl::OkStatus();
    case v1::ModelSpec::kGpt2:
      return AddGpt2(spec, config);
    case v1::ModelSpec::kLlama:
      return AddLlama(spec, config);
    case v1::ModelSpec::kVit:
      return AddVit(spec, data, config);
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("model: nothing is chosen");
}

}  // namespace

absl::StatusOr<json> HuggingFaceConfigOfSpec(const v1::TrialSpec& resolved, const ExportedData& data,
                                             bool quantized) {
  json config = FieldsOf(resolved);
  config["model_type"] = ArchitectureName(resolved.model());
  config["torch_dtype"] = "float32";
  RETURN_IF_ERROR(AddRest(resolved, data, &config));
  if (IsCausal(resolved.model())) AddTokens(data, &config);
  if (quantized || HasOwnParts(resolved)) AddOwnParts(resolved, quantized, &config);
  return config;
}

}  // namespace inlier
