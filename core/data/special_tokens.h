// The special tokens of every vocabulary trained here: one table for BERT and OPT, so that one token cache
// serves both.
//
// The order keeps the ids that the models' definitions fix: BERT pads with 0; OPT pads with 1 (a row of
// zeros) and separates with </s> = 2. After them come the 256 bytes, then the merges.
#ifndef INLIER_CORE_DATA_SPECIAL_TOKENS_H_
#define INLIER_CORE_DATA_SPECIAL_TOKENS_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace inlier {

inline constexpr int64_t kBertPadId = 0;
inline constexpr int64_t kOptPadId = 1;
inline constexpr int64_t kSeparatorId = 2;  // </s>: begins every text of a causal model (bos and eos).
inline constexpr int64_t kClsId = 3;        // Begins every text of a masked model.
inline constexpr int64_t kSepId = 4;        // Ends every text of a masked model.
inline constexpr int64_t kMaskId = 5;

// The spelling of the token with each id.
inline constexpr std::array<std::string_view, 6> kSpecialTokens = {"[PAD]", "<pad>", "</s>",
                                                                   "[CLS]", "[SEP]", "[MASK]"};

// The smallest vocabulary: special tokens and bytes.
inline constexpr int64_t kSmallestVocabulary = static_cast<int64_t>(kSpecialTokens.size()) + 256;

// Whether an id of such a vocabulary is a special token (never an MLM target, not a word).
constexpr bool IsSpecialToken(int64_t id) {
  return id >= 0 && id < static_cast<int64_t>(kSpecialTokens.size());
}

}  // namespace inlier

#endif  // INLIER_CORE_DATA_SPECIAL_TOKENS_H_
