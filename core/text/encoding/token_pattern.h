// A regular expression of a tokenizer.json, of the kind that splits words (GPT-2's, Llama 3's, Qwen's), over ICU.
//
// `tokenizers` runs them with Oniguruma. Only what both read alike is accepted: letters and signs, categories (\p{L}),
// \s \S \d \D \r \n \t, classes, groups, (?i:…), (?!…), alternatives and repetitions.
#ifndef INLIER_CORE_TEXT_ENCODING_TOKEN_PATTERN_H_
#define INLIER_CORE_TEXT_ENCODING_TOKEN_PATTERN_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

// Begin and end in bytes.
using TextRange = std::pair<size_t, size_t>;

class TokenPattern {
 public:
  // InvalidArgument names the part of `pattern` that is not read; it does not quote it.
  static absl::StatusOr<TokenPattern> Regex(const std::string& pattern);
  // A text that is looked for as it is. InvalidArgument where it is empty.
  static absl::StatusOr<TokenPattern> Literal(const std::string& text);

  // All matches, from left to right. REQUIRES: `text` is UTF-8.
  std::vector<TextRange> Matches(std::string_view text) const;

 private:
  struct Compiled;
  TokenPattern() = default;

  std::string literal_;
  std::shared_ptr<const Compiled> regex_;  // Null for a literal.
};

// The "pattern" of a tokenizer.json: {"Regex": …} or {"String": …}. `place` names it in messages.
absl::StatusOr<TokenPattern> PatternOf(const nlohmann::json& value, const std::string& place);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_TOKEN_PATTERN_H_
