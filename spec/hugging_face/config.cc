#include "spec/hugging_face/config.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/files/mapped_file.h"
#include "base/json_text.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/config_keys.h"
#include "spec/hugging_face/config_reader.h"
#include "spec/hugging_face/own_parts.h"

namespace inlier {
namespace {

using nlohmann::json;

// The names of a classifier's outputs, by default LABEL_0, …; transformers counts them by id2label, else by num_labels.
absl::StatusOr<std::vector<std::string>> ClassNames(ConfigReader& config) {
  constexpr std::size_t kOutputsMax = 1 << 16;
  std::vector<std::string> names;
  const json* labels = config.Find("id2label");
  if (labels == nullptr || labels->is_null()) {
    const json* count = config.Find("num_labels");
    if (count != nullptr && !(count->is_number_unsigned() && *count >= 1 && *count <= kOutputsMax))
      return RefuseKey("num_labels", "is not a number of classes");
    names.resize(count == nullptr ? 2 : count->get<std::size_t>());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = absl::StrCat("LABEL_", i);
    return names;
  }
  if (!labels->is_object() || labels->empty())
    return RefuseKey("id2label", "is not an object of numbers and names");
  names.resize(labels->size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = labels->find(std::to_string(i));
    if (name == labels->end() || !name->is_string())
      return RefuseKey("id2label", absl::StrCat("has no name for the output ", i, " of ", names.size()));
    names[i] = name->get<std::string>();
  }
  const json* ids = config.Find("label2id");
  if (ids == nullptr || !ids->is_object() || ids->size() != names.size()) return names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto id = ids->find(names[i]);
    if (id != ids->end() && *id != json(i)) return RefuseKey("label2id", "has other numbers than id2label");
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
    return RefuseKey("problem_type", "is not known: regression and single_label_classification are");
  if (number && !one)
    return RefuseKey("problem_type", "regression of several numbers is not supported by inlier's models");
  const json* dropout = config.Find("classifier_dropout");
  if (dropout != nullptr && !dropout->is_null() && *dropout != json(read->spec.dropout()))
    return RefuseKey("classifier_dropout", "differs from hidden_dropout_prob, and there is one dropout here");
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
    return RefuseKey("architectures", "is not a list of names of classes");
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
    const bool classifies =
        name.empty() || name == "ViTForImageClassification" || name == "DeiTForImageClassification";
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
      return RefuseKey("auto_map", "the model is the folder's own Python code, which is not read here");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HuggingFaceConfig> ParseHuggingFaceConfig(const json& config, FolderPart part) {
  if (!config.is_object()) return RefuseKey("config.json", "is not an object of keys and values");
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (config.contains(key) && !config[key].is_null())
      return RefuseKey(key, "the weights are stored quantized; give the float model");
  }
  const auto named = config.find("model_type");
  const std::string whole = named != config.end() && named->is_string() ? named->get<std::string>() : "";
  const std::string type(absl::StripPrefix(whole, "inlier_"));
  const ModelType* known = FindModelType(type);
  if (known == nullptr)
    return RefuseKey("model_type", absl::StrCat("is not known: ", NamesOfModelTypes(), " are"));
  HuggingFaceConfig read{.model_type = type};
  ConfigReader reader(config, *known, &read.spec);
  RETURN_IF_ERROR(reader.ReadFields());
  if (known->finish != nullptr) RETURN_IF_ERROR(known->finish(reader, &read.spec));
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
