// The keys of a Hugging Face config.json, by architecture: which are fields of a TrialSpec, which have one supported
// value, and which change nothing that is computed here.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_HUGGING_FACE_CONFIG_KEYS_H_
#define INLIER_SPEC_HUGGING_FACE_CONFIG_KEYS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace inlier {

// A key whose value is a field.
struct FieldKey {
  enum Kind { kSize, kNumber, kFlag, kActivation, kNormFirst };  // kNormFirst: true is PRE, false is POST.
  const char* key;
  const char* field;  // Below TrialSpec: "model.gpt2.heads".
  Kind kind;
  const char* otherwise = "";  // The default, in the field's spelling; "" where the file must have the key.
  const char* same_as = "";    // A field whose value, `times` it, is the default, also for null.
  std::uint32_t times = 1;
  const char* alias = "";  // Another name of the key.
};

// A key with one supported value, as JSON.
struct FixedKey {
  const char* key;
  const char* value;
  bool of_head = false;  // A head for another purpose does not have it.
};

// `architecture` is the member of ModelSpec, for example "gpt2"; empty for an unknown one.
std::span<const FieldKey> FieldKeysOf(std::string_view architecture);
std::span<const FixedKey> CommonFixedKeys();
std::span<const FixedKey> FixedKeysOf(std::string_view architecture);

// The key of the field; empty where there is none.
std::string_view KeyOfField(std::string_view architecture, std::string_view field);

// True for a key of transformers up to 5.24 that changes neither logits nor hidden states of a whole sequence in
// float32: names, ids of special tokens, settings of training, generation and heads for other purposes.
bool ChangesNothing(std::string_view key);

// The last transformers whose classes were read for these tables: up to it, other keys have no meaning for the model.
inline constexpr int kKnownMajor = 5;
inline constexpr int kKnownMinor = 24;

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_CONFIG_KEYS_H_
