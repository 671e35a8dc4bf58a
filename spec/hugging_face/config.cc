#include "spec/hugging_face/config.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/files/mapped_file.h"
#include "base/json_text.h"
#include "base/status.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/config_keys.h"
#include "spec/hugging_face/own_parts.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

using nlohmann::json;

absl::Status Refuse(const std::string& key, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", what));
}

FieldPath PathOf(const char* field) { return FieldPath::Known(v1::TrialSpec::descriptor(), field); }

// Numbers, true, false and null of a file may be shown; texts are not.
std::string Shown(const json& value) {
  return value.is_primitive() && !value.is_string() ? value.dump() : std::string("this value");
}

std::string ActivationOf(const std::string& name) {
  if (name == "gelu" || name == "gelu_python") return "GELU_ERF";
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast" || name == "gelu_accurate")
    return "GELU_TANH";
  if (name == "relu") return "RELU";
  if (name == "silu" || name == "swish") return "SILU";
  return "";
}

// One config.json and the keys that have been read.
class ConfigReader {
 public:
  ConfigReader(const json& config, std::string architecture, v1::TrialSpec* spec)
      : config_(config), architecture_(std::move(architecture)), spec_(spec) {}

  absl::Status ReadFields() {
    for (const FieldKey& key : FieldKeysOf(architecture_)) RETURN_IF_ERROR(ReadField(key));
    return absl::OkStatus();
  }

  absl::Status CheckFixed(bool other_head) {
    for (const auto& keys : {CommonFixedKeys(), FixedKeysOf(architecture_)}) {
      for (const FixedKey& key : keys) {
        const json* value = Find(key.key);
        if (value == nullptr || (key.of_head && other_head)) continue;
        const json wanted = json::parse(key.value);
        // transformers takes null for false, and for no heads.
        const bool absent = value->is_null() && (wanted.is_object() || wanted == json(false));
        if (*value == wanted || absent) continue;
        return Refuse(key.key, absl::StrCat(Shown(*value), " is not supported by inlier's models: only ",
                                            key.value, " is"));
      }
    }
    return absl::OkStatus();
  }

  // The value, whose key counts as read; null where there is none.
  const json* Find(const char* key) {
    seen_.insert(key);
    const auto found = config_.find(key);
    return found == config_.end() ? nullptr : &*found;
  }

  // Other keys must change nothing, or be of a version whose classes do not read them either.
  absl::Status CheckOthers() {
    const json* written_by = Find("transformers_version");
    const std::string version =
        written_by != nullptr && written_by->is_string() ? written_by->get<std::string>() : "";
    const std::vector<std::string> parts = absl::StrSplit(version, '.');
    int major = 0, minor = 0;
    const bool later = parts.size() > 1 && absl::SimpleAtoi(parts[0], &major) &&
                       absl::SimpleAtoi(parts[1], &minor) &&
                       (major > kKnownMajor || (major == kKnownMajor && minor > kKnownMinor));
    if (!later) return absl::OkStatus();
    for (const auto& [key, value] : config_.items()) {
      if (seen_.count(key) > 0 || ChangesNothing(key)) continue;
      return Refuse(
          std::string(Quoted(key)),
          absl::StrCat("is not known, and transformers ", major, ".", minor,
                       ", which wrote the file, may give it a meaning; remove the key if the model is "
                       "the same without it"));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ReadField(const FieldKey& key) {
    const json* value = Find(key.key);
    const char* name = key.key;
    if (const json* other = *key.alias == '\0' ? nullptr : Find(key.alias); other != nullptr) {
      if (value != nullptr && *value != *other)
        return Refuse(key.alias, absl::StrCat("differs from ", key.key));
      value = other;
      name = key.alias;
    }
    const bool may_be_null = *key.same_as != '\0' || !absl::StartsWith(key.field, "model.");  // A dropout.
    if (value != nullptr && (!value->is_null() || !may_be_null)) {
      ASSIGN_OR_RETURN(const std::string text, FieldText(name, key.kind, *value));
      return Set(name, key.field, text);
    }
    if (*key.same_as != '\0') {
      const std::string text = PathOf(key.same_as).GetText(*spec_);
      std::uint64_t size = 0;
      INLIER_CHECK(absl::SimpleAtoi(text, &size));
      return Set(name, key.field, absl::StrCat(size * key.times));
    }
    if (*key.otherwise == '\0') return Refuse(name, "is missing: this is not a whole config.json");
    return Set(name, key.field, key.otherwise);
  }

  absl::Status Set(const char* key, const char* field, const std::string& text) {
    const absl::Status set = PathOf(field).SetText(text, spec_);
    return set.ok() ? set : Refuse(key, std::string(set.message()));
  }

  // The value in the field's spelling.
  static absl::StatusOr<std::string> FieldText(const char* key, FieldKey::Kind kind, const json& value) {
    switch (kind) {
      case FieldKey::kSize:
        if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
            value.get<std::int64_t>() > UINT32_MAX)
          return Refuse(key, "is not a size: it must be a whole number of at least 1");
        return absl::StrCat(value.get<std::int64_t>());
      case FieldKey::kNumber:
        if (!value.is_number()) return Refuse(key, "is not a number");
        return FormatNumber(value.get<double>());
      case FieldKey::kFlag:
      case FieldKey::kNormFirst: {
        if (!value.is_boolean()) return Refuse(key, "is neither true nor false");
        const bool on = value.get<bool>();
        return std::string(kind == FieldKey::kFlag ? (on ? "true" : "false") : (on ? "PRE" : "POST"));
      }
      case FieldKey::kActivation: {
        const std::string activation = value.is_string() ? ActivationOf(value.get<std::string>()) : "";
        if (activation.empty())
          return Refuse(key, "is not known: gelu, gelu_new, gelu_pytorch_tanh, relu and silu are");
        return activation;
      }
    }
    return Refuse(key, "is not known");
  }

  const json& config_;
  const std::string architecture_;
  v1::TrialSpec* spec_;
  std::set<std::string, std::less<>> seen_;
};

// Allows rope_scaling, or rope_parameters of transformers 5, only for positions that are not scaled.
absl::Status ReadRotary(ConfigReader& config, v1::LlamaSpec* llama) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* rope = config.Find(key);
    if (rope == nullptr || rope->is_null()) continue;
    const auto value = [rope](const char* name) {
      const auto found = rope->is_object() ? rope->find(name) : rope->end();
      return found == rope->end() ? json() : *found;
    };
    const json type = value("rope_type").is_null() ? value("type") : value("rope_type");
    const json share = value("partial_rotary_factor");
    if (type != json("default") || !(share.is_null() || share == json(1)))
      return Refuse(key, "is not known: only rotary positions that are not scaled, of type default, are");
    const json theta = value("rope_theta");
    if (theta.is_null()) continue;
    if (!theta.is_number()) return Refuse(absl::StrCat(key, ".rope_theta"), "is not a number");
    llama->set_rotary_theta(theta.get<double>());
  }
  return absl::OkStatus();
}

// Reads the keys of a Llama that are not in FieldKeysOf.
absl::Status ReadLlama(ConfigReader& config, v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  const json* biases = config.Find("mlp_bias");
  if ((biases == nullptr ? json(false) : *biases) != json(llama->biases()))
    return Refuse("mlp_bias", "differs from attention_bias, and biases are on or off for all linears here");
  const json* head = config.Find("head_dim");
  if (head != nullptr && !head->is_null() &&
      *head != json(static_cast<double>(llama->hidden_size()) / llama->heads()))
    return Refuse("head_dim", "is not hidden_size / num_attention_heads");
  const json* layers = config.Find("layer_types");
  for (const json& layer : layers == nullptr || layers->is_null() ? json::array() : *layers) {
    if (layer != json("full_attention")) return Refuse("layer_types", "is not known: only full_attention is");
  }
  spec->set_norm(v1::RMS_NORM_M);
  return ReadRotary(config, llama);
}

// The names of a classifier's outputs, by default LABEL_0, …; transformers counts them by id2label, else by num_labels.
absl::StatusOr<std::vector<std::string>> ClassNames(ConfigReader& config) {
  constexpr std::size_t kOutputsMax = 1 << 16;
  std::vector<std::string> names;
  const json* labels = config.Find("id2label");
  if (labels == nullptr || labels->is_null()) {
    const json* count = config.Find("num_labels");
    if (count != nullptr && !(count->is_number_unsigned() && *count >= 1 && *count <= kOutputsMax))
      return Refuse("num_labels", "is not a number of classes");
    names.resize(count == nullptr ? 2 : count->get<std::size_t>());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = absl::StrCat("LABEL_", i);
    return names;
  }
  if (!labels->is_object() || labels->empty())
    return Refuse("id2label", "is not an object of numbers and names");
  names.resize(labels->size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = labels->find(std::to_string(i));
    if (name == labels->end() || !name->is_string())
      return Refuse("id2label", absl::StrCat("has no name for the output ", i, " of ", names.size()));
    names[i] = name->get<std::string>();
  }
  const json* ids = config.Find("label2id");
  if (ids == nullptr || !ids->is_object() || ids->size() != names.size()) return names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto id = ids->find(names[i]);
    if (id != ids->end() && *id != json(i)) return Refuse("label2id", "has other numbers than id2label");
  }
  return names;
}

// Without problem_type, transformers takes one output as a number.
absl::Status ReadBertClassifier(ConfigReader& config, HuggingFaceConfig* read) {
  ASSIGN_OR_RETURN(read->class_names, ClassNames(config));
  const bool one = read->class_names.size() == 1;
  const json* problem = config.Find("problem_type");
  const bool given = problem != nullptr && !problem->is_null();
  const json kind = given ? *problem : json(one ? "regression" : "single_label_classification");
  const bool number = kind == json("regression");
  if (!number && kind != json("single_label_classification"))
    return Refuse("problem_type", "is not known: regression and single_label_classification are");
  if (number && !one)
    return Refuse("problem_type", "regression of several numbers is not supported by inlier's models");
  const json* dropout = config.Find("classifier_dropout");
  if (dropout != nullptr && !dropout->is_null() && *dropout != json(read->spec.dropout()))
    return Refuse("classifier_dropout", "differs from hidden_dropout_prob, and there is one dropout here");
  read->spec.mutable_data()->mutable_classification()->set_target(number ? v1::ClassificationDataSpec::NUMBER
                                                                         : v1::ClassificationDataSpec::CLASS);
  return absl::OkStatus();
}

// The class that the weights were saved from, without its "Inlier"; may be empty.
absl::StatusOr<std::string> ClassOf(ConfigReader& config) {
  const json* architectures = config.Find("architectures");
  if (architectures == nullptr || architectures->is_null() || *architectures == json::array())
    return std::string();
  if (!architectures->is_array() || !architectures->front().is_string())
    return Refuse("architectures", "is not a list of names of classes");
  return std::string(absl::StripPrefix(architectures->front().get_ref<const std::string&>(), "Inlier"));
}

bool IsLanguageModel(const std::string& name) {
  for (const char* end : {"ForMaskedLM", "ForCausalLM", "LMHeadModel", "ForPreTraining", "Model"}) {
    if (absl::EndsWith(name, end)) return true;
  }
  return name.empty();
}

absl::Status ReadHead(ConfigReader& config, FolderPart part, HuggingFaceConfig* read) {
  ASSIGN_OR_RETURN(const std::string name, ClassOf(config));
  if (read->spec.model().has_vit()) {
    const bool classifies = name.empty() || name == "ViTForImageClassification";
    read->other_head = !classifies;
    if (classifies) {
      ASSIGN_OR_RETURN(read->class_names, ClassNames(config));
    }
    read->spec.mutable_model()->mutable_vit()->set_classes(
        classifies ? static_cast<std::uint32_t>(read->class_names.size()) : 2);
  } else if (name == "BertForSequenceClassification" && part == FolderPart::kWhole) {
    return ReadBertClassifier(config, read);
  } else {
    read->other_head = !IsLanguageModel(name);
  }
  return absl::OkStatus();
}

absl::Status CheckOwnCode(ConfigReader& config) {
  const json* classes = config.Find("auto_map");
  if (classes == nullptr || !classes->is_object()) return absl::OkStatus();
  for (const auto& [name, code] : classes->items()) {
    if (absl::StartsWith(name, "AutoModel"))
      return Refuse("auto_map", "the model is the folder's own Python code, which is not read here");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HuggingFaceConfig> ParseHuggingFaceConfig(const json& config, FolderPart part) {
  if (!config.is_object()) return Refuse("config.json", "is not an object of keys and values");
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (config.contains(key) && !config[key].is_null())
      return Refuse(key, "the weights are stored quantized; give the float model");
  }
  const auto named = config.find("model_type");
  const std::string whole = named != config.end() && named->is_string() ? named->get<std::string>() : "";
  const std::string type(absl::StripPrefix(whole, "inlier_"));
  if (FieldKeysOf(type).empty())
    return Refuse("model_type", "is not known: bert, opt, gpt2, llama and vit are");
  HuggingFaceConfig read;
  ConfigReader reader(config, type, &read.spec);
  RETURN_IF_ERROR(reader.ReadFields());
  if (type == "llama") RETURN_IF_ERROR(ReadLlama(reader, &read.spec));
  RETURN_IF_ERROR(ReadHead(reader, part, &read));
  RETURN_IF_ERROR(reader.CheckFixed(read.other_head));
  if (type != whole) {
    reader.Find("inlier");
    reader.Find("inlier_quantization");
    reader.Find("inlier_scripts");
    RETURN_IF_ERROR(ReadOwnParts(config, &read.spec));
  } else {
    RETURN_IF_ERROR(CheckOwnCode(reader));
  }
  RETURN_IF_ERROR(reader.CheckOthers());
  return read;
}

absl::StatusOr<HuggingFaceConfig> ReadHuggingFaceConfig(const std::filesystem::path& folder, FolderPart part,
                                                        const DataRoots& roots) {
  const std::filesystem::path path = folder / "config.json";
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path, roots);
  if (!file.ok()) {
    return absl::Status(
        file.status().code(),
        absl::StrCat(std::string(file.status().message()),
                     "; give a folder with config.json and model.safetensors, as transformers' "
                     "save_pretrained writes it"));
  }
  ASSIGN_OR_RETURN(const json config, ParseJsonText(file->bytes(), path.string(), 1,
                                                    {.bytes_max = 16 << 20, .values_max = 100'000}));
  absl::StatusOr<HuggingFaceConfig> read = ParseHuggingFaceConfig(config, part);
  if (read.ok()) {
    // Scripts are files of the folder itself, whatever its config.json says.
    v1::AttentionSpec& attention = *read->spec.mutable_attention();
    const std::filesystem::path place = std::filesystem::absolute(folder);
    if (attention.softmax().has_script())
      attention.mutable_softmax()->mutable_script()->set_file(place / kSoftmaxScript);
    if (attention.gate().has_script())
      attention.mutable_gate()->mutable_script()->set_file(place / kGateScript);
    return read;
  }
  return absl::Status(read.status().code(),
                      absl::StrCat(path.string(), ": ", std::string(read.status().message())));
}

}  // namespace inlier
