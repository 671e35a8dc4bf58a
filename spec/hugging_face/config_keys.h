// The keys of a Hugging Face config.json, by architecture: which are fields of a TrialSpec, which have one value here,
// and which change nothing that is computed here. Reading, writing and comparing folders follow these tables.
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
  const char* otherwise =
      "";  // Where the key is absent, in the field's spelling. "": the file must have the key.
  const char* same_as = "";  // A field whose value, `times` it, is taken where the key is absent or null.
  std::uint32_t times = 1;
  const char* alias = "";  // Another name of the key.
};

// A key that may have one value alone, as JSON.
struct FixedKey {
  const char* key;
  const char* value;
  bool of_head = false;  // A head for another purpose does not have it.
};

// `architecture`: the member of ModelSpec, for example "gpt2"; nothing for an unknown one.
std::span<const FieldKey> FieldKeysOf(std::string_view architecture);
// The keys of all architectures; the keys of one.
std::span<const FixedKey> CommonFixedKeys();
std::span<const FixedKey> FixedKeysOf(std::string_view architecture);

// The key of the field; empty where there is none.
std::string_view KeyOfField(std::string_view architecture, std::string_view field);

// True for a key that transformers up to 5.24 has for every model or for one of these architectures, and that changes
// neither logits nor hidden states of a whole sequence in float32: names, ids of special tokens, what a training or a
// generation does, settings of heads for other purposes.
bool ChangesNothing(std::string_view key);

// The last transformers whose classes were read for these tables: up to it, a key that is in none of them has no
// meaning for the model.
inline constexpr int kKnownMajor = 5;
inline constexpr int kKnownMinor = 24;

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_CONFIG_KEYS_H_
