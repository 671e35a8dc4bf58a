// Tokens that are added to a vocabulary: they are found in the text itself, before any word is cut.
#ifndef INLIER_CORE_TEXT_ENCODING_ADDED_TOKENS_H_
#define INLIER_CORE_TEXT_ENCODING_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/text/encoding/json_fields.h"

namespace inlier {

struct AddedToken {
  uint32_t id = 0;
  std::string content;
  bool single_word = false;  // Not next to a letter, a digit or _.
  bool lstrip = false;       // Takes the white space before it,
  bool rstrip = false;       // and after it.
  bool normalized = false;   // Is looked for in the normalized text, and normalized itself.
  bool special = true;
};

// The token that an object of a tokenizer.json or tokenizer_config.json describes, without its id.
inline AddedToken ReadAddedToken(JsonFields& fields) {
  AddedToken token;
  token.content = fields.Text("content");
  token.single_word = fields.Flag("single_word", false);
  token.lstrip = fields.Flag("lstrip", false);
  token.rstrip = fields.Flag("rstrip", false);
  token.special = fields.Flag("special", false);
  token.normalized = fields.Flag("normalized", !token.special);
  return token;
}

class TokenFinder {
 public:
  // Where several fit, the longest is taken, and of equal ones the first. `special_is_text`: a special token hides what
  // else would fit there, and is text. REQUIRES: no content is empty.
  explicit TokenFinder(std::vector<AddedToken> tokens, bool special_is_text = false);

  bool empty() const { return tokens_.empty(); }

  // Calls for each part of the text, from left to right: with a token, or null for a text without one.
  using Visit = std::function<void(std::string_view part, const AddedToken* token)>;
  void Split(std::string_view text, const Visit& visit) const;

 private:
  const AddedToken* LongestAt(std::string_view rest) const;

  std::vector<AddedToken> tokens_;
  absl::flat_hash_map<std::string, size_t> places_;  // By content, in tokens_.
  std::array<std::vector<size_t>, 256> lengths_;     // Of those that begin with a byte, the longest first.
  const bool special_is_text_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_ADDED_TOKENS_H_
