// ModelTypes of config_keys.h: the list of what is read, each in a file of its own.
#include <string>
#include <vector>

#include "spec/hugging_face/config_keys.h"
#include "spec/hugging_face/types/types.h"

namespace inlier {

const std::vector<const ModelType*>& ModelTypes() {
  static const auto* const types = new std::vector<const ModelType*>{
      &kBertType,    &kRobertaType,  &kDistilBertType, &kOptType,   &kGpt2Type,
      &kGptNeoxType, &kLlamaType,    &kMistralType,    &kQwen2Type, &kQwen3Type,
      &kGemma2Type,  &kStableLmType, &kVitType,        &kDeitType};
  return *types;
}

const ModelType* FindModelType(std::string_view name) {
  for (const ModelType* type : ModelTypes()) {
    if (name == type->name) return type;
  }
  return nullptr;
}

std::string NamesOfModelTypes() {
  std::string names;
  for (std::size_t i = 0; i < ModelTypes().size(); ++i) {
    if (i > 0) names += i + 1 == ModelTypes().size() ? " and " : ", ";
    names += ModelTypes()[i]->name;
  }
  return names;
}

std::string_view KeyOfField(std::string_view model_type, std::string_view field) {
  const ModelType* type = FindModelType(model_type);
  if (type == nullptr) return {};
  for (const FieldKey& key : type->fields) {
    if (field == key.field) return key.key;
  }
  return {};
}

}  // namespace inlier
