// The keys of a Hugging Face config.json, by its model_type: which are fields of a TrialSpec, which have one supported
// value, and which change nothing that is computed here.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_HUGGING_FACE_CONFIG_KEYS_H_
#define INLIER_SPEC_HUGGING_FACE_CONFIG_KEYS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// A key whose value is a field.
struct FieldKey {
  // kNormFirst: true is PRE, false is POST. Optional ones leave the field alone where the value is null, or there is neither the
  // key nor a default.
  enum Kind { kSize, kNumber, kFlag, kActivation, kNormFirst, kOptionalSize, kOptionalNumber };
  const char* key;
  const char* field;  // Below TrialSpec: "model.gpt2.heads".
  Kind kind;
  const char* otherwise = "";  // The default, in the field's spelling; "" where the file must have the key.
  const char* same_as =
      "";  // A field whose value, `times` it, is that of null, and without `otherwise` the default.
  std::uint32_t times = 1;
  const char* alias = "";  // Another name of the key.
};

// A key with one supported value, as JSON.
struct FixedKey {
  const char* key;
  const char* value;
  bool of_head = false;  // A head for another purpose does not have it.
};

class ConfigReader;

// A model_type of config.json: a class of transformers, read as one of the architectures here.
struct ModelType {
  const char* name;
  const char* architecture;  // The member of ModelSpec: "gpt2".
  std::span<const FieldKey> fields;
  std::span<const FixedKey> fixed = {};
  // Reads what is not in the tables; null: nothing.
  absl::Status (*finish)(ConfigReader& config, v1::TrialSpec* spec) = nullptr;
};

const std::vector<const ModelType*>& ModelTypes();
// Null for an unknown one.
const ModelType* FindModelType(std::string_view name);
// "bert, …, and vit", for messages.
std::string NamesOfModelTypes();

std::span<const FixedKey> CommonFixedKeys();

// The key of the field; empty where there is none.
std::string_view KeyOfField(std::string_view model_type, std::string_view field);

// True for a key of transformers up to 5.24 that changes neither logits nor hidden states of a whole sequence in
// float32: names, ids of special tokens, settings of training, generation and heads for other purposes.
bool ChangesNothing(std::string_view key);

// The last transformers whose classes were read for these tables: up to it, other keys have no meaning for the model.
inline constexpr int kKnownMajor = 5;
inline constexpr int kKnownMinor = 24;

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_CONFIG_KEYS_H_
