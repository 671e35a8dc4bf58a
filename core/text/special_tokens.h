// The special tokens of a tokenizer for one objective, and those of the vocabularies trained here.
#ifndef INLIER_CORE_TEXT_SPECIAL_TOKENS_H_
#define INLIER_CORE_TEXT_SPECIAL_TOKENS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inlier {

struct SpecialTokens {
  int64_t pad = 0;              // Fills a sequence that is too short.
  int64_t begin = 0;            // Put before every text.
  std::optional<int64_t> end;   // Put after every text.
  std::optional<int64_t> mask;  // In place of a token to predict.

  bool IsSpecial(int64_t id) const { return id == pad || id == begin || id == end || id == mask; }
};

// One table for BERT and OPT, so that one token cache serves both. The order keeps the ids that the models'
// definitions fix: BERT pads with 0; OPT pads with 1 (a row of zeros) and separates with </s> = 2. After them
// come the 256 bytes, then the merges.
inline constexpr std::array<std::string_view, 6> kOwnSpecialTokens = {"[PAD]", "<pad>", "</s>",
                                                                      "[CLS]", "[SEP]", "[MASK]"};
inline constexpr SpecialTokens kOwnMaskedTokens = {.pad = 0, .begin = 3, .end = 4, .mask = 5};
inline constexpr SpecialTokens kOwnCausalTokens = {.pad = 1, .begin = 2, .end = {}, .mask = {}};

// The smallest vocabulary trained here: special tokens and bytes.
inline constexpr int64_t kSmallestVocabulary = static_cast<int64_t>(kOwnSpecialTokens.size()) + 256;

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_SPECIAL_TOKENS_H_
