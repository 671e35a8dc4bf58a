// Everything that decides the ids of a text, as a tokenizer.json has it. All tokenizers are made from one.
#ifndef INLIER_CORE_TEXT_TOKENIZER_DEFINITION_H_
#define INLIER_CORE_TEXT_TOKENIZER_DEFINITION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/text/byte_pair.h"
#include "core/text/encoding/added_tokens.h"
#include "core/text/encoding/byte_pair_model.h"
#include "core/text/word_piece.h"
#include "nlohmann/json.hpp"

namespace inlier {

struct TokenizerDefinition {
  std::string place;  // The file, for messages.
  VocabularyIds ids;  // The model's, without added tokens.
  std::variant<BytePairSettings, WordPieceSettings> model;
  nlohmann::json normalizer, pre_tokenizer;  // Null: none.
  // Of added tokens, where it is another one than that of texts: transformers changes only the latter.
  std::optional<nlohmann::json> token_normalizer;
  std::vector<AddedToken> added;  // By Add.
  bool special_is_text = false;   // A special token spelt in a text is text.

  // The tokens that the post-processor puts around a text; nothing where it adds none.
  struct Around {
    std::vector<uint32_t> before, after;
  };
  std::optional<Around> around;
  std::map<std::string, std::string> named;  // "cls_token" and the like, with their content.
  std::map<std::string, std::string> files;  // Hugging Face's form, name -> content.

  bool IsAdded(const std::string& content) const { return added_places_.contains(content); }
  // True when it is of a vocabulary that was trained here.
  bool IsOwn() const;
  std::optional<uint32_t> IdOf(std::string_view token) const;
  std::optional<uint32_t> IdOfNamed(const std::string& name) const;  // "cls_token", …
  // Adds a token with the id that `tokenizers` gives it, in place of an earlier one of the same content; its id.
  // InvalidArgument where the content is empty, or the two are looked for in different texts.
  absl::StatusOr<uint32_t> Add(AddedToken token);

 private:
  absl::flat_hash_map<std::string, size_t> added_places_;  // By content, in added.
  uint32_t next_id_ = 0;                                   // One more than the largest of an added token.
};

// A tokenizer.json. InvalidArgument names the file, the key and what of it is not known.
absl::StatusOr<TokenizerDefinition> ParseTokenizerJson(std::string_view text, const std::string& file);

// True when its first tokens are kOwnSpecialTokens: it was trained here.
bool IsOwnVocabulary(const BytePairVocabulary& vocabulary);

// REQUIRES: IsOwnVocabulary. A special token spelt in a text is ordinary text.
TokenizerDefinition OwnDefinition(const BytePairVocabulary& vocabulary);
// Its merges and bytes cut as GPT-2's; without added tokens, the others of its tokens are never used.
TokenizerDefinition BytePairDefinition(const BytePairVocabulary& vocabulary);
// vocab.json and merges.txt alone. <|endoftext|> separates texts and pads; in OPT's own vocabulary, recognised by its
// </s> and <pad>, those two do. InvalidArgument when the vocabulary has neither.
absl::StatusOr<TokenizerDefinition> Gpt2Definition(const BytePairVocabulary& vocabulary);
// Cut and spelt as bert-base-uncased, without added tokens.
TokenizerDefinition PiecesDefinition(const WordPieceVocabulary& vocabulary);
// vocab.txt alone: the same with the special tokens of bert-base-uncased.
TokenizerDefinition WordPieceDefinition(const WordPieceVocabulary& vocabulary);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_DEFINITION_H_
